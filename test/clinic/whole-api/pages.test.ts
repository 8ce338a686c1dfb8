import { describe } from 'vitest';
import { describeReading } from './reading.ts';
import { describeFailure } from './trouble.ts';
import { useWorld } from './world.ts';
import { describeWriting } from './writing.ts';

describe('the pages dialect', () => {
  const world = useWorld('pages');
  describeReading(world);
  describeWriting(world);
  describeFailure(world);
});
