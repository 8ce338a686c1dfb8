import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes long wherever it runs: several daemons, or a server that is no sandbox. Of these the first begin first. */
const LONG = [
  'test/simulation/reminders',
  'test/contract/caldav',
  'test/e2e/redis-failover',
  'test/e2e/caldav-servers',
  'test/chaos/',
  'test/e2e/',
  'test/fuzz/',
  'test/contract/',
  'test/oauth/many-processes',
  'test/composition/alerts',
];

/**
 * Long files first, so that no worker is left with one when the others have ended. Vitest does so by itself from the second run on, when it
 * knows how long each took; before it, the largest file is first.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    if (sorted.every((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return sorted;
    const rankOf = ({ moduleId }: TestSpecification) => {
      const path = relative(this.ctx.config.root, moduleId);
      const rank = LONG.findIndex((start) => path.startsWith(start));
      return rank === -1 ? LONG.length : rank;
    };
    return sorted.sort((one, other) => rankOf(one) - rankOf(other));
  }
}
