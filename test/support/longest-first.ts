import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Slow files on any host: they use several daemons, or a real server. The first in this list start first. */
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
  'test/daemon/alerts',
];

/**
 * Starts long files first, so that no worker is left with a long file at the end. From the second run on, Vitest does this with measured
 * durations; in the first run, it starts the largest file first.
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
