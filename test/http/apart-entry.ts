/** A scripted thread for the tests of `Apart`. */
import { answerApart } from '../../src/http/apart.ts';
import { answerTooLarge } from '../../src/http/transport.ts';

answerApart(function* (told: 'pieces' | 'refuse' | 'hang' | 'grow') {
  if (told === 'refuse') throw answerTooLarge('more than three');
  if (told === 'pieces') yield* ['one', 'two'];
  const kept: string[][] = [];
  while (told !== 'pieces')
    if (told === 'grow') kept.push(Array.from({ length: 1_000 }, (_, n) => `${kept.length} ${n}`));
});
