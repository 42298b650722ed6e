package io.farpage.limit;

/**
 * What counts as one address: an IPv4 address, or the /64 of an IPv6 address, since a host may use every address of its
 * /64.
 */
final class AddressGroup {

    private static final int GROUPS = 8;
    private static final int PREFIX_GROUPS = 4;

    private AddressGroup() {}

    /**
     * The key of an address.
     *
     * @param address in text, with or without brackets and scope; any other text is its own key
     */
    static String of(String address) {
        if (address.indexOf(':') < 0) {
            return address;
        }
        String bare = address.replaceFirst("^\\[", "").replaceFirst("[%\\]].*$", "");
        int last = bare.lastIndexOf(':');
        if (bare.indexOf('.') >= 0) {
            // ::ffff:192.0.2.1
            return bare.substring(last + 1);
        }
        int gap = bare.indexOf("::");
        String head = gap < 0 ? bare : bare.substring(0, gap);
        String tail = gap < 0 ? "" : bare.substring(gap + 2);
        String[] first = head.isEmpty() ? new String[0] : head.split(":");
        String[] rest = tail.isEmpty() ? new String[0] : tail.split(":");
        StringBuilder prefix = new StringBuilder();
        for (int i = 0; i < PREFIX_GROUPS; i++) {
            int fromEnd = i - (GROUPS - rest.length);
            String group = i < first.length ? first[i] : gap >= 0 && fromEnd >= 0 ? rest[fromEnd] : "0";
            prefix.append(group.replaceFirst("^0+(?=.)", "")).append(':');
        }
        return prefix.append(":/64").toString();
    }
}
