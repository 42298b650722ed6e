package io.farpage.agent.data.coherence;

import java.util.Arrays;

/**
 * Requests that wait until an earlier one of the same page is answered, in the order in which they came. Few wait at a
 * time: each member has a bounded number of requests.
 */
final class RequestQueue {
    /** No request. */
    static final int NONE = -1;

    private static final int HAS_SHARED = 1 << 9;
    private static final int WRITE = 1 << 8;

    private int[] pages = new int[64];
    private int[] requests = new int[64];
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    int size() {
        return count;
    }

    /**
     * @param page index of the page in the directory
     * @param member number of the member
     */
    void add(int page, int member, boolean write, boolean hasShared) {
        if (count == pages.length) {
            pages = Arrays.copyOf(pages, 2 * count);
            requests = Arrays.copyOf(requests, 2 * count);
        }
        pages[count] = page;
        requests[count] = member | (write ? WRITE : 0) | (hasShared ? HAS_SHARED : 0);
        count++;
    }

    /** Removes the first request for a page, and returns it; {@link #NONE} if there is none. */
    int take(int page) {
        for (int i = 0; i < count; i++) {
            if (pages[i] == page) {
                int request = requests[i];
                remove(i);
                return request;
            }
        }
        return NONE;
    }

    /** The page of a request, counted from the first. */
    int page(int position) {
        assert position < count : position;
        return pages[position];
    }

    /** Removes the requests of a member. */
    void removeAll(int member) {
        for (int i = count - 1; i >= 0; i--) {
            if (member(requests[i]) == member) {
                remove(i);
            }
        }
    }

    private void remove(int index) {
        count--;
        System.arraycopy(pages, index + 1, pages, index, count - index);
        System.arraycopy(requests, index + 1, requests, index, count - index);
    }

    static int member(int request) {
        return request & 0xFF;
    }

    static boolean isWrite(int request) {
        return (request & WRITE) != 0;
    }

    static boolean hasShared(int request) {
        return (request & HAS_SHARED) != 0;
    }
}
