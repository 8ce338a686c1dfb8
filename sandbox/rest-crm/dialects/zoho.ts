import type { FastifyRequest } from 'fastify';
import { type Answer, type Dialect, objectOf, paramsOf, queryOf, textOf } from '../dialect.ts';
import { type Field, isEmpty, type StoredRecord, type Table, USUAL_LENGTH } from '../tables.ts';
import type { World } from '../world.ts';
import { codeOfStatus, failure, success, unfit } from './zoho-answers.ts';

/** Highest number of records in one write (zoho.com/crm/developer/docs/api/v8/upsert-records.html). */
const MAX_ROWS = 100;
/** Highest number of records in one page, and of keys in one `in`. */
const MAX_PER_PAGE = 200;
const MAX_IN = 100;

/** Stages with labels changed by an administrator. The API values remain unchanged. */
const STAGES = [
  { value: 'Qualification', label: 'First visit' },
  { value: 'Closed Won', label: 'Paid' },
];

const MIRROR: Record<string, Field> = {
  Clinic_Mirror_Key: { type: 'text', unique: true },
  Clinic_Mirror_Stamp: { type: 'text' },
};
const MODULES: Record<string, Record<string, Field>> = {
  Contacts: {
    First_Name: { type: 'text', maxLength: 40 },
    Last_Name: { type: 'text', maxLength: 80, required: true },
    Email: { type: 'text', maxLength: 100, form: 'email' },
    Phone: { type: 'text', maxLength: 30, form: 'phone' },
    Visits: { type: 'number' },
    Newsletter: { type: 'boolean' },
    Email_Opt_Out: { type: 'boolean' },
    Date_of_Birth: { type: 'date' },
    Last_Visit: { type: 'instant' },
    ...MIRROR,
  },
  Events: {
    Event_Title: { type: 'text', required: true },
    Start_DateTime: { type: 'instant', required: true },
    End_DateTime: { type: 'instant' },
    Who_Id: { type: 'link' },
    ...MIRROR,
  },
  Deals: {
    Deal_Name: { type: 'text', required: true },
    Stage: { type: 'text', options: STAGES },
    Amount: { type: 'number' },
    Closing_Date: { type: 'date' },
    Contact_Name: { type: 'link' },
    ...MIRROR,
  },
};

/** Zoho CRM v8, after its documentation: records in `data`, a code for each, upsert by named fields, COQL, 204 for an empty result. */
export const zoho: Dialect = {
  base: '/crm/v8',
  furnish: (world) => {
    for (const [name, fields] of Object.entries(MODULES)) {
      world.addTable(name, fields, () => `55401800000${String(1_000_000 + world.nextNumber())}`);
    }
  },
  login: (token) => ({ header: 'authorization', value: `Zoho-oauthtoken ${token}` }),
  example: { path: '/Contacts', body: { data: [{ Last_Name: 'Rossi' }] } },
  bodyOf: codeOfStatus,
  addRoutes(app, world) {
    const on = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, handler: Handler) =>
      app.route({
        method,
        url,
        handler: async (request, reply) => {
          const module = paramsOf(request).module ?? '';
          const table = world.tables.get(module);
          const { status, body } =
            table === undefined ? failure('INVALID_MODULE') : handler({ table, module, world }, request);
          return reply.status(status).send(body);
        },
      });
    app.post('/coql', async (request, reply) => {
      const { status, body } = coql(world, String(objectOf(request.body).select_query));
      return reply.status(status).send(body);
    });
    app.get('/settings/fields', async (request) => {
      const table = world.tables.get(textOf(queryOf(request).module));
      return {
        fields: ['id', ...(table?.fields.keys() ?? [])].map((name) => ({
          api_name: name,
          ...described(table?.fields.get(name)),
          pick_list_values: (table?.fields.get(name)?.options ?? []).map(({ value, label }) => ({
            actual_value: value,
            display_value: label,
          })),
        })),
      };
    });
    on('GET', '/:module', list);
    on('POST', '/:module', (module, request) => eachRow(module, request, (row) => insert(module, row)));
    on('POST', '/:module/upsert', upsert);
    on('GET', '/:module/:id', ({ table }, request) => {
      const record = table.get(paramsOf(request).id ?? '');
      return record === undefined ? { status: 204 } : { status: 200, body: { data: [toBody(record)] } };
    });
    on('PUT', '/:module/:id', (module, request) =>
      withRecord(module, request, (record) => eachRow(module, request, (row) => change(module, record, row))),
    );
    on('DELETE', '/:module', removeMany);
    on('DELETE', '/:module/:id', (module, request) =>
      withRecord(module, request, (record) => {
        module.table.remove(record);
        return { status: 200, body: { data: [success(record)] } };
      }),
    );
  },
};

/** Returns type, length and required flag of a field in the form of zoho.com/crm/developer/docs/api/v8/field-meta.html. */
function described({ type, form, maxLength = USUAL_LENGTH, required = false }: Field = { type: 'number' }): object {
  const plain = type === 'text' && maxLength > USUAL_LENGTH ? 'textarea' : type;
  return { data_type: form ?? plain, length: type === 'text' ? maxLength : 20, system_mandatory: required };
}

/** Deletes each id separately. A call without any existing id is refused (zoho.com/crm/developer/docs/api/v8/delete-records.html). */
function removeMany({ table }: Module, request: FastifyRequest): Answer {
  const ids = textOf(queryOf(request).ids).split(',').filter(Boolean);
  if (ids.length === 0) return failure('REQUIRED_PARAM_MISSING');
  if (ids.length > MAX_ROWS) return failure('LIMIT_EXCEEDED');
  const records = ids.map((id) => table.get(id));
  const data = records.map((record) => (record === undefined ? unfit('INVALID_DATA', 'id') : success(record)));
  for (const record of records) if (record !== undefined) table.remove(record);
  return { status: records.some((record) => record !== undefined) ? 200 : 400, body: { data } };
}

interface Module {
  table: Table;
  module: string;
  world: World;
}
type Handler = (module: Module, request: FastifyRequest) => Answer;

function withRecord({ table }: Module, request: FastifyRequest, handle: (record: StoredRecord) => Answer): Answer {
  const record = table.get(paramsOf(request).id ?? '');
  return record === undefined ? failure('INVALID_DATA', 404) : handle(record);
}

/** Without `trigger`, a write runs the workflows (help.zoho.com, Kaizen 33). */
function eachRow({ world }: Module, request: FastifyRequest, write: (row: Record<string, unknown>) => object): Answer {
  const { data, trigger = ['workflow'] } = objectOf(request.body);
  if (!Array.isArray(data)) return failure('MANDATORY_NOT_FOUND');
  if (data.length > MAX_ROWS) return failure('LIMIT_EXCEEDED');
  const written = data.map((row) => write(objectOf(row)));
  const taken = written.filter((row) => 'status' in row && row.status === 'success').length;
  if (Array.isArray(trigger) && trigger.includes('workflow')) world.automationsRun += taken;
  return { status: 200, body: { data: written } };
}

function insert(module: Module, row: Record<string, unknown>): object {
  return refuse(module, null, row) ?? success(module.table.insert(row), 'insert');
}

function change(module: Module, record: StoredRecord, row: Record<string, unknown>): object {
  return refuse(module, record.id, row) ?? success(module.table.change(record, row), 'update');
}

/** Compares only the fields in `duplicate_check_fields`. By default, the vendor compares contacts by email address. */
function upsert(module: Module, request: FastifyRequest): Answer {
  if (module.module === 'Events') return failure('NOT_SUPPORTED');
  const { duplicate_check_fields: named } = objectOf(request.body);
  const fields: unknown[] = Array.isArray(named) ? named : ['Email'];
  return eachRow(module, request, (row) => {
    const matches = module.table
      .all()
      .filter(({ values }) =>
        fields.some((name) => !isEmpty(row[String(name)]) && values[String(name)] === row[String(name)]),
      );
    if (matches.length > 1) return unfit('DUPLICATE_DATA', fields.map(String).join(','));
    const [match] = matches;
    return match === undefined ? insert(module, row) : change(module, match, row);
  });
}

function refuse({ table, world }: Module, id: string | null, row: Record<string, unknown>): object | null {
  const strange = Object.keys(row).find((name) => !table.fields.has(name));
  if (strange !== undefined) return unfit('INVALID_DATA', strange);
  for (const [name, { type }] of table.fields) {
    const linked = type === 'link' && !isEmpty(row[name]) ? String(objectOf(row[name]).id) : null;
    if (linked !== null && world.tables.get('Contacts')?.get(linked) === undefined) return unfit('INVALID_DATA', name);
  }
  const refusal = table.refuse(id, row, (value, type) => TYPES[type](value));
  if (refusal === undefined) return null;
  const codes = { required: 'MANDATORY_NOT_FOUND', 'not-unique': 'DUPLICATE_DATA' } as const;
  return unfit(codes[refusal.why as keyof typeof codes] ?? 'INVALID_DATA', refusal.field);
}

const TYPES: Readonly<Record<Field['type'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value),
  instant: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}[+-]\d{2}:\d{2}$/.test(value),
  link: (value) => typeof objectOf(value).id === 'string',
};

function list({ table }: Module, request: FastifyRequest): Answer {
  const query = queryOf(request);
  if (textOf(query.fields) === '') return failure('REQUIRED_PARAM_MISSING');
  const perPage = Number(textOf(query.per_page) || MAX_PER_PAGE);
  if (perPage > MAX_PER_PAGE) return failure('INVALID_DATA');
  const rows = table.all().toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const after = textOf(query.page_token);
  const left = rows.filter(({ id }) => id > after);
  const page = left.slice(0, perPage);
  if (page.length === 0) return { status: 204 };
  const hasMore = left.length > page.length;
  const info = { more_records: hasMore, next_page_token: hasMore ? page.at(-1)?.id : null, count: page.length };
  const fields = textOf(query.fields).split(',');
  return { status: 200, body: { data: page.map((row) => toBody(row, fields)), info } };
}

/** Reads `select a,b from Module where Field in ('x','y') limit n`; other queries are refused. */
function coql(world: World, text: string): Answer {
  const pattern = /^select ([\w,]+) from (\w+) where (\w+) in \(((?:'[^']*',?)+)\)(?: limit (\d+))?$/;
  const [, fields = '', module = '', name = '', list = '', limit = '200'] = pattern.exec(text) ?? [];
  const table = world.tables.get(module);
  const wanted = [...list.matchAll(/'([^']*)'/g)].map(([, one = '']) => one);
  const isKnown = [...fields.split(','), name].every((field) => field === 'id' || table?.fields.has(field));
  if (table === undefined || wanted.length === 0 || wanted.length > MAX_IN || !isKnown) return failure('INVALID_QUERY');
  const found = table.search(({ values }) => wanted.includes(String(values[name])));
  if (found.length === 0) return { status: 204 };
  return {
    status: 200,
    body: {
      data: found.slice(0, Number(limit)).map((row) => toBody(row, fields.split(','))),
      info: { count: found.length, more_records: found.length > Number(limit) },
    },
  };
}

function toBody({ id, values, updatedAt }: StoredRecord, fields?: readonly string[]): Record<string, unknown> {
  const names = fields ?? Object.keys(values);
  const written = names
    .filter((name) => name !== 'id')
    .map((name) => [name, isEmpty(values[name]) ? null : values[name]]);
  return {
    id,
    ...Object.fromEntries(written),
    Modified_Time: `${new Date(updatedAt).toISOString().slice(0, 19)}+00:00`,
  };
}
