/** Entry of a thread that evaluates expressions, one request of its parent at a time. */
import { parentPort } from 'node:worker_threads';
import { answerRequest, type ThreadRequest } from '../sync/mapping/expressions.ts';

let work = Promise.resolve();

parentPort?.on('message', (request: ThreadRequest) => {
  work = work.then(() => answerRequest(request, (answer) => parentPort?.postMessage(answer)));
});
