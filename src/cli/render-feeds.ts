import type { FEED_OPERATIONS } from '../features/feeds/operations.ts';
import type { ResultOf } from '../operations/operation.ts';
import { renderTable, renderTime } from './table.ts';

/** Feeds as a table. */
export function renderFeeds({ feeds }: ResultOf<typeof FEED_OPERATIONS.listFeeds>): string {
  if (feeds.length === 0) return 'No target is a feed: add one with connector: feed (docs/feeds.md).';
  const columns = ['tenant', 'target', 'address made', 'last fetched'];
  const rows = feeds.map(({ tenant, target, access }) => [
    tenant,
    target,
    access === null ? 'none' : renderTime(access.madeAt),
    access === null ? '' : renderTime(access.fetchedAt),
    access?.fetches ?? 0,
  ]);
  return renderTable([...columns, 'fetches'], rows);
}
