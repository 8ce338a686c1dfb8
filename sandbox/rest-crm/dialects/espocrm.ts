import type { FastifyRequest } from 'fastify';
import { type Answer, type Dialect, objectOf, paramsOf, queryOf, textOf } from '../dialect.ts';
import { type Field, isEmpty, type KeptWith, type Refusal, type StoredRecord, type Table } from '../tables.ts';
import type { World } from '../world.ts';

/** Highest number of records in one list (recordListMaxSizeLimit). */
const MAX_SIZE = 200;

const MIRROR: Record<string, Field> = { cMirrorKey: { type: 'text' }, cMirrorStamp: { type: 'text' } };
const ENTITIES: Record<string, Record<string, Field>> = {
  Contact: {
    firstName: { type: 'text', maxLength: 100 },
    lastName: { type: 'text', maxLength: 100, required: true },
    emailAddress: { type: 'text', form: 'email' },
    emailAddressIsOptedOut: { type: 'boolean' },
    phoneNumber: { type: 'text', maxLength: 36, form: 'phone' },
    phoneNumberIsOptedOut: { type: 'boolean' },
    doNotCall: { type: 'boolean' },
    description: { type: 'text', maxLength: 65_535 },
    cVisits: { type: 'number' },
    cBirthDate: { type: 'date' },
    cLastVisit: { type: 'instant' },
    ...MIRROR,
  },
  Meeting: {
    name: { type: 'text', required: true },
    dateStart: { type: 'instant', required: true },
    dateEnd: { type: 'instant' },
    assignedUserId: { type: 'link', required: true },
    contactsIds: { type: 'link' },
    ...MIRROR,
  },
  Opportunity: {
    name: { type: 'text', required: true },
    amount: { type: 'number' },
    closeDate: { type: 'date' },
    contactsIds: { type: 'link' },
    ...MIRROR,
  },
};

/**
 * EspoCRM stores an opt-out with the email address or phone number (Core/FieldProcessing/EmailAddress/Saver.php). Relatives with one
 * address share the opt-out.
 */
const KEPT_WITH: Record<string, KeptWith[]> = {
  Contact: [
    { property: 'emailAddressIsOptedOut', by: 'emailAddress' },
    { property: 'phoneNumberIsOptedOut', by: 'phoneNumber' },
  ],
};

const TYPES: Readonly<Record<Field['type'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value),
  instant: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?$/.test(value),
  link: (value) => Array.isArray(value) || typeof value === 'string',
};

/** EspoCRM, after docs.espocrm.com: entities, `where` filters, duplicates, soft deletes. */
export const espocrm: Dialect = {
  base: '/api/v1',
  furnish: (world) => {
    for (const [name, fields] of Object.entries(ENTITIES)) {
      world.addTable(name, fields, () => world.hex(17), KEPT_WITH[name]);
    }
  },
  login: (token) => ({ header: 'x-api-key', value: token }),
  example: { path: '/Contact' },
  bodyOf: () => '',
  addRoutes(app, world) {
    const on = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, handler: Handler) =>
      app.route({
        method,
        url,
        handler: async (request, reply) => {
          const table = world.tables.get(paramsOf(request).entity ?? '');
          const { status, body } = table === undefined ? missing() : handler(table, request, world);
          if (body === undefined) return reply.status(status).send();
          return reply.status(status).type('application/json').send(JSON.stringify(body));
        },
      });
    app.get('/Metadata', async (request) => fieldsOf(world, textOf(queryOf(request).key)));
    on('GET', '/:entity', list);
    on('POST', '/:entity', create);
    on('GET', '/:entity/:id', (table, request) => withRecord(table, request, (record) => ok(toBody(table, record))));
    on('PUT', '/:entity/:id', (table, request) =>
      withRecord(table, request, (record) => update(table, record, request)),
    );
    on('DELETE', '/:entity/:id', (table, request) =>
      withRecord(table, request, (record) => {
        table.remove(record);
        return ok(true);
      }),
    );
  },
};

type Handler = (table: Table, request: FastifyRequest, world: World) => Answer;

function ok(body: unknown): Answer {
  return { status: 200, body };
}

/** A 404 has no body text. */
function missing(): Answer {
  return { status: 404 };
}

function withRecord(table: Table, request: FastifyRequest, handle: (record: StoredRecord) => Answer): Answer {
  const record = table.get(paramsOf(request).id ?? '');
  return record === undefined ? missing() : handle(record);
}

/** Links are listed by their own names, not by those of their values (Resources/metadata/entityDefs). */
function fieldsOf(world: World, key: string): Record<string, unknown> {
  const table = world.tables.get(/^entityDefs\.(\w+)\.fields$/.exec(key)?.[1] ?? '');
  return Object.fromEntries(
    [...(table?.fields ?? [])].map(([name, { type, form, maxLength, required = false }]) => {
      if (type !== 'link') return [name, { type: form ?? (type === 'text' ? 'varchar' : type), required, maxLength }];
      const isMultiple = name.endsWith('Ids');
      return [name.slice(0, isMultiple ? -3 : -2), { type: isMultiple ? 'linkMultiple' : 'link', required }];
    }),
  );
}

function list(table: Table, request: FastifyRequest): Answer {
  const query = queryOf(request);
  const maxSize = Number(textOf(query.maxSize) || 20);
  if (maxSize > MAX_SIZE) return { status: 403 };
  const attribute = textOf(query['where[0][attribute]']);
  if (attribute !== '' && !table.fields.has(attribute)) return { status: 400 };
  const fits = filterOf(
    textOf(query['where[0][type]']),
    [query['where[0][value][]'] ?? query['where[0][value]'] ?? []].flat(),
  );
  if (fits === null) return { status: 400 };
  const found = attribute === '' ? table.all() : table.search(({ values }) => fits(values[attribute]));
  const rows = textOf(query.orderBy) === 'id' ? found.toSorted((a, b) => (a.id < b.id ? -1 : 1)) : found;
  const offset = Number(textOf(query.offset) || 0);
  const shown = shownInList(table, textOf(query.select));
  const page = rows.slice(offset, offset + maxSize).map((row) => {
    const body = toBody(table, row);
    return Object.fromEntries(Object.entries(body).filter(([name]) => name === 'id' || shown(name)));
  });
  return ok({ list: page, total: rows.length });
}

/**
 * Without a selection, a list shows all fields except links to several records. Such links are shown only if selected
 * (LinkMultiple/ListLoader.php).
 */
function shownInList(table: Table, select: string): (name: string) => boolean {
  const selected = new Set(select.split(','));
  return (name) => {
    const isLinkMultiple = table.fields.get(name)?.type === 'link' && name.endsWith('Ids');
    return selected.has(name) || (select === '' && !isLinkMultiple);
  };
}

function filterOf(type: string, wanted: readonly string[]): ((value: unknown) => boolean) | null {
  if (type === '') return () => true;
  if (type === 'equals' || type === 'in') return (value) => wanted.includes(String(value));
  return type === 'startsWith' ? (value) => String(value ?? '').startsWith(wanted[0] ?? '') : null;
}

function create(table: Table, request: FastifyRequest): Answer {
  const values = knownValues(table, request.body);
  const refusal = table.refuse(null, values, isTyped);
  if (refusal !== undefined) return refused(refusal);
  const twin = isEmpty(values.emailAddress)
    ? []
    : table.all().filter((row) => row.values.emailAddress === values.emailAddress);
  if (twin.length > 0 && request.headers['x-skip-duplicate-check'] !== 'true') {
    return { status: 409, body: twin.map((row) => toBody(table, row)) };
  }
  return ok(toBody(table, table.insert(values)));
}

const RULES = {
  required: 'required',
  'too-long': 'maxLength',
  'wrong-type': 'valid',
  'not-unique': 'unique',
  'not-an-option': 'valid',
} as const;

/** Names field and rule, links by their own names, as version 9 does. */
function refused({ field, why }: Refusal): Answer {
  const data = { field: field.replace(/Ids?$/, ''), type: RULES[why] };
  return { status: 400, body: { messageTranslation: { label: 'validationFailure', scope: null, data } } };
}

function update(table: Table, record: StoredRecord, request: FastifyRequest): Answer {
  const values = knownValues(table, request.body);
  const refusal = table.refuse(record.id, values, isTyped);
  if (refusal !== undefined) return refused(refusal);
  return ok(toBody(table, table.change(record, values)));
}

/** EspoCRM ignores unknown fields without an error. */
function knownValues(table: Table, body: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(objectOf(body)).filter(([name]) => table.fields.has(name)));
}

function isTyped(value: unknown, type: Field['type']): boolean {
  return TYPES[type](value);
}

/** Empty fields are null, date-times are in UTC without a zone. */
function toBody(table: Table, { id, values, updatedAt }: StoredRecord): Record<string, unknown> {
  const written = [...table.fields.keys()].map((name) => [name, isEmpty(values[name]) ? null : values[name]]);
  return {
    id,
    ...Object.fromEntries(written),
    modifiedAt: new Date(updatedAt).toISOString().slice(0, 19).replace('T', ' '),
  };
}
