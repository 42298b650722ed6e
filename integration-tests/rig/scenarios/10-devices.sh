# time limit: 20 s
# The devices are there, and perftest's peers see each other over each of them.
ibv_devinfo
ip rule show
java -version
