import { inspect } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { type Answer, type Dialect, flattened, nested, objectOf, paramsOf, queryOf, textOf } from '../dialect.ts';
import { type Field, isEmpty, type Refusal, type StoredRecord, type Table } from '../tables.ts';
import type { World } from '../world.ts';

/** Highest number of records in one answer. */
const MAX_LIMIT = 60;

const MIRROR: Record<string, Field> = {
  clinicMirrorKey: { type: 'text', unique: true },
  clinicMirrorStamp: { type: 'text' },
};
/** Two of the stages that a workspace begins with (packages/twenty-server, standard objects, opportunity). */
const STAGES = [
  { value: 'NEW', label: 'New' },
  { value: 'CUSTOMER', label: 'Customer' },
];
/** Kinds of records by the plural that paths carry; `one` names a record in answers. */
const OBJECTS: Record<string, { one: string; fields: Record<string, Field> }> = {
  people: {
    one: 'person',
    fields: {
      'name.firstName': { type: 'text' },
      'name.lastName': { type: 'text' },
      // github.com/twentyhq/twenty/issues/9920
      'emails.primaryEmail': { type: 'text', unique: true, form: 'email' },
      'phones.primaryPhoneNumber': { type: 'text', form: 'phone' },
      visits: { type: 'number' },
      newsletter: { type: 'boolean' },
      bornOn: { type: 'date' },
      lastVisitAt: { type: 'instant' },
      ...MIRROR,
    },
  },
  opportunities: {
    one: 'opportunity',
    fields: {
      name: { type: 'text' },
      'amount.amountMicros': { type: 'number' },
      closeDate: { type: 'instant' },
      stage: { type: 'text', options: STAGES },
      pointOfContactId: { type: 'link' },
      ...MIRROR,
    },
  },
};

const TYPES: Readonly<Record<Field['type'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value),
  instant: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  link: (value) => typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value),
};

/**
 * Twenty's REST API, after Twenty's source code: answers that contain the call's name, cursors, fields of several parts, schema per
 * workspace.
 */
export const twenty: Dialect = {
  base: '/rest',
  furnish: (world) => {
    for (const [name, { fields }] of Object.entries(OBJECTS)) world.addTable(name, fields, () => world.uuid());
  },
  login: (token) => ({ header: 'authorization', value: `Bearer ${token}` }),
  example: { path: '/people' },
  bodyOf: (status) => problem(status, 'Refused').body,
  addRoutes(app, world) {
    const on = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, handler: Handler) =>
      app.route({
        method,
        url,
        handler: async (request, reply) => {
          const plural = paramsOf(request).plural ?? '';
          const table = world.tables.get(plural);
          const one = OBJECTS[plural]?.one;
          const { status, body } =
            table === undefined || one === undefined
              ? problem(400, `object '${plural}' not found`)
              : handler({ table, one, plural, world }, request);
          return reply.status(status).send(body);
        },
      });
    app.get('/metadata/objects', async () => ({ data: { objects: metadata(world) } }));
    on('GET', '/:plural', list);
    on('POST', '/:plural', create);
    on('GET', '/:plural/:id', (kind, request) =>
      withRecord(kind, request, (record) => ({
        status: 200,
        body: { data: { [kind.one]: toBody(kind.table, record) } },
      })),
    );
    on('PATCH', '/:plural/:id', (kind, request) =>
      withRecord(kind, request, (record) => update(kind, record, request)),
    );
    on('DELETE', '/:plural/:id', (kind, request) =>
      withRecord(kind, request, (record) => {
        kind.table.remove(record);
        return { status: 200, body: { data: { [`delete${titled(kind.one)}`]: { id: record.id } } } };
      }),
    );
  },
};

interface Kind {
  table: Table;
  one: string;
  plural: string;
  world: World;
}
type Handler = (kind: Kind, request: FastifyRequest) => Answer;

function problem(statusCode: number, message: string): Answer {
  return { status: statusCode, body: { statusCode, error: 'BadRequestException', messages: [message] } };
}

function titled(one: string): string {
  return one.charAt(0).toUpperCase() + one.slice(1);
}

function metadata(world: World) {
  return Object.entries(OBJECTS).map(([namePlural, { one }]) => {
    const fields = new Map(
      [...(world.tables.get(namePlural)?.fields ?? [])].map(([name, field]) => [name.split('.')[0], field]),
    );
    const described = [...fields].map(([name, { options = null }]) => ({ name, options }));
    return { nameSingular: one, namePlural, fields: described };
  });
}

function withRecord({ table }: Kind, request: FastifyRequest, handle: (record: StoredRecord) => Answer): Answer {
  const record = table.get(paramsOf(request).id ?? '');
  return record === undefined ? problem(404, 'Record not found') : handle(record);
}

function list({ table, plural }: Kind, request: FastifyRequest): Answer {
  const query = queryOf(request);
  const filter = filterOf(table, textOf(query.filter));
  if (filter === null) return problem(400, 'invalid filter');
  const limit = Math.min(Number(textOf(query.limit) || MAX_LIMIT), MAX_LIMIT);
  const after = Buffer.from(textOf(query.starting_after), 'base64').toString('utf8');
  const found = (filter === 'all' ? table.all() : table.search(({ values }) => filter(values)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .filter(({ id }) => id > after);
  const rows = found.slice(0, limit);
  const cursorOf = (row: StoredRecord | undefined) =>
    row === undefined ? null : Buffer.from(row.id).toString('base64');
  const pageInfo = {
    hasNextPage: found.length > rows.length,
    startCursor: cursorOf(rows[0]),
    endCursor: cursorOf(rows.at(-1)),
  };
  return {
    status: 200,
    body: { data: { [plural]: rows.map((row) => toBody(table, row)) }, pageInfo, totalCount: found.length },
  };
}

/** Reads `field[comparator]:value`, a single condition. */
function filterOf(table: Table, text: string): 'all' | ((values: Record<string, unknown>) => boolean) | null {
  if (text === '') return 'all';
  const [, name = '', comparator, value = ''] = /^([\w.]+)\[(eq|in|startsWith)\]:(.*)$/.exec(text) ?? [];
  if (comparator === undefined || !table.fields.has(name)) return null;
  const wanted = [...value.matchAll(/"([^"]*)"/g)].map(([, one = '']) => one);
  if (comparator === 'startsWith') return (values) => String(values[name] ?? '').startsWith(wanted[0] ?? '');
  return (values) => wanted.includes(String(values[name]));
}

function create({ table, one, world }: Kind, request: FastifyRequest): Answer {
  const values = flattened(objectOf(request.body));
  const refusal = refuse(table, world, null, values);
  if (refusal !== null) return refusal;
  return { status: 201, body: { data: { [`create${titled(one)}`]: toBody(table, table.insert(values)) } } };
}

function update({ table, one, world }: Kind, record: StoredRecord, request: FastifyRequest): Answer {
  const values = flattened(objectOf(request.body));
  const refusal = refuse(table, world, record.id, values);
  if (refusal !== null) return refusal;
  return { status: 200, body: { data: { [`update${titled(one)}`]: toBody(table, table.change(record, values)) } } };
}

/** Twenty refuses a field that the workspace does not have. Deleted records keep their unique values. */
function refuse(table: Table, world: World, id: string | null, values: Record<string, unknown>): Answer | null {
  const strange = Object.keys(values).find((name) => !table.fields.has(name));
  if (strange !== undefined) return problem(400, `Object doesn't have any "${strange}" field.`);
  const person = values.pointOfContactId;
  if (typeof person === 'string' && world.tables.get('people')?.get(person) === undefined) {
    return problem(400, 'related record not found');
  }
  const refusal: Refusal | undefined = table.refuse(id, values, (value, type) => TYPES[type](value), true);
  if (refusal?.why === 'not-unique') return problem(400, 'A duplicate entry was detected');
  return refusal === undefined ? null : problem(400, wordsOf(table, refusal, values[refusal.field]));
}

/** As in engine/api/common/common-args-processors/data-arg-processor/validator-utils; a telephone number is refused by other means, unnamed. */
function wordsOf(table: Table, { field, why }: Refusal, value: unknown): string {
  const { form, type } = table.fields.get(field) ?? {};
  if (form === 'phone') return `Provided phone number is invalid ${String(value)}`;
  if (why !== 'wrong-type' && why !== 'not-an-option') return `${field}: ${why}`;
  if (form === 'email') return `Invalid string value ${inspect(value)} for email field "${field}"`;
  return `Invalid ${type === 'number' ? 'number value' : 'value'} ${inspect(value)} for field "${field}"`;
}

/** Empty texts are empty texts, everything else that is empty is null. */
function toBody(table: Table, { id, values, createdAt, updatedAt }: StoredRecord): Record<string, unknown> {
  const written = [...table.fields].map(([name, { type }]) => [
    name,
    isEmpty(values[name]) ? (type === 'text' && !MIRROR[name] ? '' : null) : values[name],
  ]);
  return {
    id,
    ...nested(Object.fromEntries(written)),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    deletedAt: null,
  };
}
