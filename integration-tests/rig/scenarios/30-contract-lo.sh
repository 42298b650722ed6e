# time limit: 600 s
# lane: lo
# devices: rxe0
# The structures' layouts against the C header, and the provider contract with both ends on one device.
junit rxe0 --select-class io.farpage.verbs.ibverbs.LayoutTest --select-class io.farpage.verbs.ibverbs.IbverbsContractTest
