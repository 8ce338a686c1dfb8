import type { FastifyRequest } from 'fastify';
import { type Answer, type Dialect, objectOf, paramsOf, queryOf, textOf } from '../dialect.ts';
import { type Field, isEmpty, type Refusal, type StoredRecord, type Table } from '../tables.ts';
import type { World } from '../world.ts';

/** The prefix of a complementary attribute in `array_options`. */
const OPTION = 'options_';

const CONTACT: Record<string, Field> = {
  firstname: { type: 'text', maxLength: 50 },
  lastname: { type: 'text', maxLength: 50, required: true },
  email: { type: 'text', form: 'email' },
  phone_mobile: { type: 'text', maxLength: 30 },
  birthday: { type: 'date' },
  options_clinic_mirror_key: { type: 'text', unique: true },
  options_clinic_mirror_stamp: { type: 'text' },
  options_visits: { type: 'number' },
  options_newsletter: { type: 'boolean' },
  options_last_visit: { type: 'instant' },
};

const TYPES: Readonly<Record<Field['type'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(Number(value)),
  boolean: (value) => value === 0 || value === 1,
  date: (value) => Number.isSafeInteger(value),
  instant: (value) => Number.isSafeInteger(value),
  link: () => false,
};

/** Dolibarr's contacts, after Dolibarr's source code: filters as SQL, a bare number for a new record, 404 for an empty list. */
export const dolibarr: Dialect = {
  base: '/api/index.php',
  furnish: (world) => world.addTable('contacts', CONTACT, () => String(world.nextNumber())),
  login: (token) => ({ header: 'dolapikey', value: token }),
  example: { path: '/contacts', body: { lastname: 'Rossi' } },
  bodyOf: (status) => problem(status, 'refused').body,
  addRoutes(app, world) {
    const on = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, handler: Handler) =>
      app.route({
        method,
        url,
        handler: async (request, reply) => {
          const { status, body } = handler(world.tables.get('contacts') as Table, request, world);
          return reply.status(status).type('application/json').send(JSON.stringify(body));
        },
      });
    on('GET', '/contacts', list);
    on('POST', '/contacts', create);
    on('GET', '/contacts/:id', (table, request) => withRecord(table, request, (record) => ok(toBody(record))));
    on('PUT', '/contacts/:id', (table, request) =>
      withRecord(table, request, (record) => update(table, record, request)),
    );
    on('DELETE', '/contacts/:id', (table, request) =>
      withRecord(table, request, (record) => {
        table.remove(record);
        return ok(1);
      }),
    );
  },
};

type Handler = (table: Table, request: FastifyRequest, world: World) => Answer;

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function problem(status: number, message: string): Answer {
  return { status, body: { error: { code: status, message } } };
}

/** MySQL's words for a column of the contact's own table (github.com/Dolibarr/dolibarr/issues/36407 shows where they stand). */
function failed(message: string, { field, why }: Refusal): Answer {
  const words = {
    'too-long': `Data too long for column '${field}' at row 1`,
    'wrong-type': `Incorrect value for column '${field}' at row 1`,
  };
  const said = field.startsWith(OPTION) ? undefined : words[why as keyof typeof words];
  return { status: 500, body: { error: { ...(said === undefined ? {} : { 0: said }), code: 500, message } } };
}

function withRecord(table: Table, request: FastifyRequest, handle: (record: StoredRecord) => Answer): Answer {
  const record = table.get(paramsOf(request).id ?? '');
  return record === undefined ? problem(404, 'Not Found: Contact not found') : handle(record);
}

function list(table: Table, request: FastifyRequest, world: World): Answer {
  const query = queryOf(request);
  const filter = textOf(query.sqlfilters);
  const [, name = '', operator, wanted = ''] = /^\(te\.(\w+):(=|like):'([^']*)'\)$/.exec(filter) ?? [];
  if (filter !== '' && operator === undefined) return problem(400, 'Bad Request: error when validating sqlfilters');
  if (filter !== '' && !table.fields.has(`${OPTION}${name}`)) return problem(503, 'Error when retrieving contacts');
  const fits = (value: unknown) =>
    operator === '=' ? value === wanted : String(value ?? '').startsWith(wanted.replace(/%$/, ''));
  const found = filter === '' ? table.all() : table.search(({ values }) => fits(values[`${OPTION}${name}`]));
  const limit = Number(textOf(query.limit) || 100);
  const page = Number(textOf(query.page) || 0);
  const rows = found.slice(page * limit, (page + 1) * limit);
  if (rows.length === 0 && world.settings.emptyListIs404) return problem(404, 'Not Found: Contacts not found');
  return ok(rows.map(toBody));
}

function create(table: Table, request: FastifyRequest): Answer {
  const values = valuesOf(table, request.body);
  const refusal = table.refuse(null, values, isTyped);
  if (refusal?.why === 'required') return problem(400, `Bad Request: ${refusal.field} field missing`);
  if (refusal !== undefined) return failed('Internal Server Error: Error creating contact', refusal);
  return ok(Number(table.insert(values).id));
}

function update(table: Table, record: StoredRecord, request: FastifyRequest): Answer {
  const values = valuesOf(table, request.body);
  const refusal = table.refuse(record.id, values, isTyped);
  if (refusal !== undefined) return failed('Internal Server Error', refusal);
  return ok(toBody(table.change(record, values)));
}

/** Returns fields and complementary attributes together, without unknown fields. */
function valuesOf(table: Table, body: unknown): Record<string, unknown> {
  const { array_options: options, ...fields } = objectOf(body);
  const entries = Object.entries({ ...fields, ...objectOf(options) });
  return Object.fromEntries(entries.filter(([name]) => table.fields.has(name)));
}

function isTyped(value: unknown, type: Field['type']): boolean {
  return TYPES[type](value);
}

/** Complementary attributes come back as texts, empty ones as null; fields of the record that are empty as the empty text. */
function toBody({ id, values, updatedAt }: StoredRecord): Record<string, unknown> {
  const body: Record<string, unknown> = { id, date_modification: Math.floor(updatedAt / 1_000) };
  const options: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(CONTACT), ...Object.keys(values)])) {
    const value = values[name];
    if (name.startsWith(OPTION)) options[name] = isEmpty(value) ? null : String(value);
    else body[name] = isEmpty(value) ? '' : value;
  }
  return { ...body, array_options: options };
}
