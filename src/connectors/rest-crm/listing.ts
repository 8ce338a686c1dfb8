import type { CrmItem } from '../../model/items.ts';
import type { RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import { guardWalk } from '../walk.ts';
import { belongingReader } from './belonging.ts';
import type { CrmAnswer } from './client.ts';
import type { CrmCall } from './description.ts';
import { errors } from './errors.ts';
import { type CrmRow, readRow } from './from-model.ts';
import { valueAt } from './json-paths.ts';
import { MAX_PAGES } from './limits.ts';
import { rowsIn } from './lookup.ts';
import { type Scope, selection } from './scope.ts';

/**
 * Every object that carries our owner tag, page by page; of appointments and invoices those that begin in the window. Without a stamp
 * nothing is known as ours.
 */
export async function* readOurs(scope: Scope, window: TimeWindow | null): AsyncGenerator<RemoteItem<CrmItem>[]> {
  if (scope.resource.stampField === undefined) return;
  const withContacts = belongingReader(scope);
  for await (const rows of listPages(scope, scope.resource.list.call)) {
    const ours = rows.flatMap((raw): CrmRow[] => {
      const row = readRow(scope, scope.resource, raw);
      return row?.owner === 'ours' && isIn(window, scope, row.remote.item) ? [row] : [];
    });
    const items = (await withContacts(ours)).flatMap(({ key, remote }) => (key === null ? [] : [{ key, ...remote }]));
    if (items.length > 0) yield items;
  }
}

function isIn(window: TimeWindow | null, { stream }: Scope, item: CrmItem | null): boolean {
  if (window === null || stream === 'patients' || item === null) return true;
  return item.startAt >= window.fromAt && item.startAt < window.toAt;
}

/** Where a list stands. */
interface Place {
  page: number;
  offset: number;
  cursor: string | null;
  url: string | null;
}

/**
 * The rows of a list. A short page ends nothing, since a CRM may give less than it was asked for: an empty page does, or the CRM's
 * own word.
 * @param call of the description's `list`, or one that is paged as that is
 */
export async function* listPages(scope: Scope, call: CrmCall): AsyncGenerator<unknown[]> {
  const { rows: path, size, paging } = scope.resource.list;
  let place: Place | null = { page: paging.by === 'page' ? paging.first : 1, offset: 0, cursor: null, url: null };
  const visit = guardWalk(() => errors.make('crm-paging-broken'), MAX_PAGES);
  while (place !== null) {
    visit(JSON.stringify(place));
    const { url, ...values }: Place = place;
    const answer: CrmAnswer =
      url === null
        ? await scope.client.send(
            'rest-crm.list',
            call,
            { ...selection(scope, scope.resource), ...values, size, ownerTag: scope.ownerTag },
            scope.signal,
          )
        : await scope.client.follow('rest-crm.list', call, url, scope.signal);
    const rows = rowsIn(answer, path);
    if (rows.length > 0) yield rows;
    place = nextPlace(scope, place, answer, rows.length);
  }
}

function nextPlace({ resource, baseUrl }: Scope, place: Place, answer: CrmAnswer, count: number): Place | null {
  const { paging } = resource.list;
  if (paging.by === 'none' || answer.isNothing) return null;
  const offset = place.offset + count;
  if (paging.by === 'page' || paging.by === 'offset') {
    const { more, total } = paging;
    const whole = total === undefined ? null : Number(valueAt(answer.body, total));
    const isLast = count === 0 || (more !== undefined && !valueAt(answer.body, more)) || isReached(offset, whole);
    return isLast ? null : { ...place, page: place.page + 1, offset };
  }
  if (paging.by === 'cursor') {
    const cursor = valueAt(answer.body, paging.next);
    const isLast = paging.more !== undefined && !valueAt(answer.body, paging.more);
    return isLast || cursor === undefined || cursor === null || cursor === ''
      ? null
      : { ...place, cursor: String(cursor) };
  }
  const link = paging.next === 'header' ? answer.nextLink : valueAt(answer.body, paging.next);
  return typeof link === 'string' && link !== '' ? { ...place, url: ownAddress(baseUrl, link) } : null;
}

/** A total of -1 or -2 is no total (docs.espocrm.com/development/api/crud). */
function isReached(offset: number, total: number | null): boolean {
  return total !== null && total >= 0 && offset >= total;
}

/** The login goes nowhere but to the CRM. */
function ownAddress(baseUrl: string, link: string): string {
  const url = URL.parse(link, `${baseUrl}/`);
  if (url === null || url.origin !== new URL(baseUrl).origin) throw errors.make('crm-paging-broken');
  return url.href;
}
