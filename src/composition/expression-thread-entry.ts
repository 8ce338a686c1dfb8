/** Entry of a thread that works out expressions: answers what the thread that started it asks, one request at a time. */
import { parentPort } from 'node:worker_threads';
import { answerRequest, type ThreadRequest } from '../sync/mapping/expressions.ts';

let work = Promise.resolve();

parentPort?.on('message', (request: ThreadRequest) => {
  work = work.then(() => answerRequest(request, (answer) => parentPort?.postMessage(answer)));
});
