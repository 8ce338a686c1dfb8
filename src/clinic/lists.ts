import { readJson } from '../http/json.ts';
import { MirrorError } from '../model/errors.ts';
import type { SetAside } from '../model/records.ts';
import type { ListName } from '../settings/clinic-profile.ts';
import { addressOf, addressOfLink } from './addresses.ts';
import { get } from './call.ts';
import type { ClinicContext } from './context.ts';
import { type Page, type PageTarget, readPages } from './paging.ts';
import { asId, compilePaths, isJsonObject, type Mapped, valueAt } from './rows.ts';

/** One page of a catalogue: its records, and the rows that could not become one. */
export interface ListPage<Model> {
  records: Model[];
  setAside: SetAside[];
}

/** One list call. */
export interface ListCall {
  list: ListName;
  tenantId: string;
  /** Parameters beside those of paging. */
  parameters: [name: string, value: string][];
  signal: AbortSignal;
  onRequest?: () => void;
}

/** Names under which a list is looked for when the profile gives no path; of these, one alone must hold an array. */
const USUAL_LIST_NAMES = ['data', 'items', 'results', 'value', '_items'];

/** The pages of one list call, as they come. */
export function readList(context: ClinicContext, call: ListCall): AsyncGenerator<Page, void> {
  const { profile } = context;
  const label = `clinic.${call.list}.list`;
  const parameters = [...Object.entries(profile[call.list].query), ...call.parameters];
  const firstUrl = addressOf(context, ['tenants', call.tenantId, call.list], parameters);
  const readId = compilePaths(profile[call.list].fields.id);
  let url = firstUrl;

  async function load(target: PageTarget): Promise<unknown> {
    url = urlOf(target);
    const { signal, onRequest } = call;
    const answer = await get(context, { label, url, signal, ...(onRequest === undefined ? {} : { onRequest }) });
    return readJson(answer, label);
  }
  function urlOf(target: PageTarget): string {
    if ('link' in target) return addressOfLink(context, target.link, url, label);
    return addressOf(context, ['tenants', call.tenantId, call.list], [...parameters, ...target.parameters]);
  }
  return readPages({
    paging: profile[call.list].paging ?? profile.paging,
    maxPages: profile.limits.maxPages,
    load,
    rowsOf: (answer) => unwrap(answer, profile.listPath, call.list, label),
    idOf: (row) => (isJsonObject(row) ? asId(readId(row)) : null),
  });
}

/**
 * A catalogue's pages as records. An iteration that ends without throwing has seen the whole list.
 * @throws MirrorError `contract`, code `incomplete-list`, when the end of the list could not be proved
 */
export async function* readCatalogue<Model>(
  context: ClinicContext,
  call: ListCall,
  map: (row: unknown) => Mapped<Model>,
): AsyncGenerator<ListPage<Model>, void> {
  for await (const page of readList(context, call)) {
    yield sorted(page.rows, map);
    if (page.end !== null && !page.end.proved) {
      throw new MirrorError(`clinic.${call.list}.list: the list is not whole (${page.end.reason})`, {
        actor: 'contract',
        code: 'incomplete-list',
        retry: 'later',
        remedy: 'if it stays so, check paging in the clinic profile',
      });
    }
  }
}

function sorted<Model>(rows: readonly unknown[], map: (row: unknown) => Mapped<Model>): ListPage<Model> {
  const page: ListPage<Model> = { records: [], setAside: [] };
  for (const row of rows) {
    const mapped = map(row);
    if ('record' in mapped) page.records.push(mapped.record);
    else page.setAside.push(mapped.setAside);
  }
  return page;
}

function unwrap(answer: unknown, path: string | null, list: ListName, label: string): unknown[] {
  if (path !== null) {
    const rows = valueAt(answer, path);
    if (Array.isArray(rows)) return rows;
    throw noList(label, 'the answer holds no list where the profile says');
  }
  if (Array.isArray(answer)) return answer;
  if (!isJsonObject(answer)) throw noList(label, 'the answer is neither a list nor an object');
  const found = [...USUAL_LIST_NAMES, list].map((name) => answer[name]).filter((value) => Array.isArray(value));
  const [rows] = found;
  if (rows === undefined || found.length > 1) throw noList(label, `the answer holds ${found.length} lists, not one`);
  return rows;
}

function noList(label: string, what: string): MirrorError {
  return new MirrorError(`${label}: ${what}`, {
    actor: 'contract',
    code: 'not-a-list',
    retry: 'later',
    remedy: 'set listPath in the clinic profile',
  });
}
