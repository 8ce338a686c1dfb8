import { describe } from 'vitest';
import { describeReading } from './reading.ts';
import { describeFailure } from './trouble.ts';
import { useWorld } from './world.ts';
import { describeWriting } from './writing.ts';

describe('the hostile dialect', () => {
  const world = useWorld('hostile');
  describeReading(world);
  describeWriting(world);
  describeFailure(world);
});
