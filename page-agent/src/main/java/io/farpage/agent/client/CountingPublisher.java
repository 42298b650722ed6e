package io.farpage.agent.client;

import java.net.http.HttpRequest.BodyPublisher;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;
import java.util.function.LongConsumer;

/**
 * Counts the bytes of a request's body as the HTTP client takes them, a few buffers before they are sent.
 *
 * @param body to be sent
 * @param taken accepts the number of bytes taken since its last call
 */
record CountingPublisher(BodyPublisher body, LongConsumer taken) implements BodyPublisher {
    @Override
    public long contentLength() {
        return body.contentLength();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        body.subscribe(new Counting(subscriber, taken));
    }

    private record Counting(Flow.Subscriber<? super ByteBuffer> to, LongConsumer taken)
            implements Flow.Subscriber<ByteBuffer> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            to.onSubscribe(subscription);
        }

        @Override
        public void onNext(ByteBuffer bytes) {
            taken.accept(bytes.remaining());
            to.onNext(bytes);
        }

        @Override
        public void onError(Throwable failure) {
            to.onError(failure);
        }

        @Override
        public void onComplete() {
            to.onComplete();
        }
    }
}
