# time limit: 120 s
# perftest between the same machines, for comparison.
case $RIG_ROLE in
  a) timeout 100 ib_read_lat -d rxe0 -x 1 -F -s 4096 -n 1000 -o 1 ;;
  b)
    for try in 1 2 3 4 5 6 7 8 9 10; do
      sleep 1
      if line=$(timeout 60 ib_read_lat -d rxe0 -x 1 -F -s 4096 -n 1000 -o 1 10.78.0.1 | grep '^ *4096 '); then
        echo "$line" | awk '{ printf "# result: ib_read_lat: typical %.0f us, p99 %.0f us\n", $5, $8 }'
        exit 0
      fi
    done
    exit 1
    ;;
esac
