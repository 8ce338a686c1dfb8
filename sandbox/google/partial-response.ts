import { ApiError } from './errors.ts';

interface Selection {
  [name: string]: Selection | 'all';
}

/**
 * The part of an answer that the `fields` parameter selects, e.g. `nextPageToken,items(id,extendedProperties/private)`.
 * Throws ApiError 400 when the mask is malformed.
 */
export function selectFields(value: unknown, fields: string): unknown {
  const reader = { text: fields, position: 0 };
  const selection = readList(reader);
  if (reader.position < fields.length) {
    throw malformed();
  }
  return select(value, selection);
}

interface Reader {
  text: string;
  position: number;
}

function readList(reader: Reader): Selection {
  const selection: Selection = {};
  do {
    readPath(reader, selection);
  } while (take(reader, ','));
  return selection;
}

function readPath(reader: Reader, into: Selection): void {
  const name = /^[A-Za-z0-9_-]+|^\*/.exec(reader.text.slice(reader.position))?.[0];
  if (name === undefined) {
    throw malformed();
  }
  reader.position += name.length;
  if (take(reader, '/')) {
    readPath(reader, childOf(into, name));
  } else if (take(reader, '(')) {
    Object.assign(childOf(into, name), readList(reader));
    if (!take(reader, ')')) {
      throw malformed();
    }
  } else {
    into[name] = 'all';
  }
}

function childOf(selection: Selection, name: string): Selection {
  const known = selection[name];
  if (known !== undefined && known !== 'all') {
    return known;
  }
  const child: Selection = {};
  selection[name] = child;
  return child;
}

function take(reader: Reader, character: string): boolean {
  if (reader.text[reader.position] !== character) {
    return false;
  }
  reader.position += 1;
  return true;
}

function select(value: unknown, selection: Selection): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => select(item, selection));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const selected: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const wanted = selection[name] ?? selection['*'];
    if (wanted !== undefined && inner !== undefined) {
      selected[name] = wanted === 'all' ? inner : select(inner, wanted);
    }
  }
  return selected;
}

function malformed(): ApiError {
  return new ApiError(400, 'invalidParameter', 'Invalid field selection', {
    location: 'fields',
    locationType: 'parameter',
  });
}
