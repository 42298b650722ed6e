package io.farpage.verbs.ibverbs;

/**
 * A post call that the device refused.
 *
 * @param errno the error number
 * @param posted work requests of the chain that the device accepted all the same: those before the bad one, all of them
 *     if it named none
 * @param count work requests of the chain
 */
record Refusal(int errno, int posted, int count) {
    @Override
    public String toString() {
        return "the device accepted " + posted + " of " + count + " work requests";
    }
}
