import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';

/** A key of an earlier version, and its present spelling. */
export interface RenamedKey {
  path: string[];
  spelling: string;
}

const EVERY = '*';

/** Paths of keys in a description that had another name before descriptions and clinic profiles had one language. */
const RENAMED: readonly (readonly [pattern: string, spelling: string])[] = [
  ['errors.code', 'codePaths'],
  ['errors.fields', 'detailPaths'],
  ['streams.*.find.rows', 'listPath'],
  ['streams.*.get.row', 'recordPath'],
  ['streams.*.create.row', 'recordPath'],
  ['streams.*.update.row', 'recordPath'],
  ['streams.*.upsert.rows', 'listPath'],
  ['streams.*.deleteMany.rows', 'listPath'],
  ['streams.*.list.rows', 'listPath'],
  ['streams.*.list.size', 'paging.size'],
  ['streams.*.list.paging.first', 'startIndex'],
  ['streams.*.list.paging.more', 'hasMorePath'],
  ['streams.*.list.paging.total', 'totalPath'],
];

/** Styles by their earlier name. */
const STYLES: ReadonlyMap<unknown, string> = new Map([
  ['none', 'none'],
  ['offset', 'offset-limit'],
  ['page', 'page-size'],
  ['cursor', 'cursor'],
]);

/** Returns the keys of a written description that have another name now. */
export function renamedKeys(description: JsonObject): RenamedKey[] {
  const simple = RENAMED.flatMap(([pattern, spelling]) =>
    pathsTo(description, pattern.split('.')).map(([path]) => ({ path, spelling })),
  );
  const pagings = pathsTo(description, ['streams', EVERY, 'list', 'paging']);
  return [...simple, ...pagings.flatMap(([path, paging]) => renamedInPaging(path, paging))];
}

function renamedInPaging(path: string[], paging: unknown): RenamedKey[] {
  if (!isJsonObject(paging)) return [];
  const hasLink = paging.by === 'link';
  const linked = paging.next === 'header' ? 'link-header' : 'next-link';
  const style = hasLink ? linked : STYLES.get(paging.by);
  const spellings = {
    by: style === undefined ? 'style' : `style: ${style}`,
    next: hasLink && linked === 'link-header' ? 'style: link-header' : hasLink ? 'linkPath' : 'cursorPath',
  };
  return Object.entries(spellings).flatMap(([key, spelling]) =>
    Object.hasOwn(paging, key) ? [{ path: [...path, key], spelling }] : [],
  );
}

/** Returns the existing paths of a pattern, with the values there. */
function pathsTo(value: unknown, [name, ...rest]: readonly string[]): [path: string[], value: unknown][] {
  if (name === undefined) return [[[], value]];
  if (!isJsonObject(value)) return [];
  const names = name === EVERY ? Object.keys(value) : [name].filter((one) => Object.hasOwn(value, one));
  return names.flatMap((one) =>
    pathsTo(value[one], rest).map(([path, found]): [string[], unknown] => [[one, ...path], found]),
  );
}
