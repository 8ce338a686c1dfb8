import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { deleteOperation, updateOperation } from '../contract-kit.ts';

/** Two workers that believe to own the same target (a lease that ran out late). */
export const twoWorkers = group('two workers', {
  'two workers that create the same record at once leave one object': async (kit) => {
    const [one, other] = [kit.worker(), kit.worker()];
    const outcomes = await Promise.all([
      kit.deliver([kit.toCreate('a')], one),
      kit.deliver([kit.toCreate('a')], other),
    ]);
    expect(outcomes.flat().map((outcome) => outcome.result)).toEqual(['written', 'written']);
    expect(await kit.objects()).toHaveLength(1);
  },
  'two workers that update the same record at once leave one object with one of the contents': async (kit) => {
    const [created] = await kit.create('a');
    const [one, other] = [kit.worker(), kit.worker()];
    const outcomes = await Promise.all([
      kit.deliver([updateOperation('a', kit.item('One'), created!.versionTag)], one),
      kit.deliver([updateOperation('a', kit.item('Other'), created!.versionTag)], other),
    ]);
    expect(outcomes.flat().map((outcome) => outcome.result)).toEqual(['written', 'written']);
    expect(['One', 'Other']).toContain((await kit.object('a')).title);
  },
  'an update and a delete of the same record at once leave one object or none': async (kit) => {
    const [created] = await kit.create('a');
    const [one, other] = [kit.worker(), kit.worker()];
    const outcomes = await Promise.all([
      kit.deliver([updateOperation('a', kit.item('One'), created!.versionTag)], one),
      kit.deliver([deleteOperation('a', created!.versionTag)], other),
    ]);
    expect(outcomes.flat().every((outcome) => outcome.result !== 'failed')).toBe(true);
    expect((await kit.objects()).length).toBeLessThanOrEqual(1);
  },
});
