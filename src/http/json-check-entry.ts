/** Thread entry that parses JSON answers and measures their cost. */

import { answerApart } from './apart.ts';
import { checkInThread } from './json-check.ts';

answerApart((pieces: readonly Uint8Array[]) => {
  checkInThread(pieces);
  return [].values();
});
