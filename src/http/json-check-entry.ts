/** Entry of a thread that parses answers of JSON and says whether they are cheap. */

import { answerApart } from './apart.ts';
import { checkInThread } from './json-check.ts';

answerApart((pieces: readonly Uint8Array[]) => {
  checkInThread(pieces);
  return [].values();
});
