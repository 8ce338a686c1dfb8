import { readFileSync } from 'node:fs';
import { compileAppointmentRows, compileBookings } from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { mapperOf } from '../../../src/clinic/read/reading-calls.ts';
import { createZone, parseTimestamp } from '../../../src/clinic/read/timestamps.ts';
import { readUserInfo } from '../../../src/clinic/read/users.ts';
import { CompiledProfile, clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../../../src/clinic/schema/resources.ts';
import { errors as hubspotErrors, readRefusal } from '../../../src/connectors/hubspot/errors.ts';
import { readRecord } from '../../../src/connectors/hubspot/from-model.ts';
import { idAt } from '../../../src/connectors/rest-crm/from-model.ts';
import { errors as salesforceErrors } from '../../../src/connectors/salesforce/errors.ts';
import { wholeResult } from '../../../src/connectors/salesforce/reading.ts';
import { parseJson } from '../../../src/core/model/json.ts';
import { mobileNumber } from '../../../src/features/reminders/content.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { tenantSchema } from '../../../src/settings/tenant-schema.ts';
import { readYaml } from '../../../src/settings/yaml-file.ts';
import { checkSpecification } from '../../../src/setup/check-spec/check-spec.ts';
import type { Parser } from '../parser.ts';
import { JSON_PAIRS, JSON_WORDS } from './answers.ts';

const PROFILE = clinicProfileSchema.parse({});
const COMPILED = { compiled: new CompiledProfile(PROFILE) };
const ZONE = createZone('Europe/Rome');
const committed = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

const APPOINTMENT = {
  ...{ id: 12, start: '2026-03-02T10:00:00+01:00', end: '2026-03-02T10:30:00+01:00', status: 'confirmed', notes: 'a' },
  ...{
    agenda: { id: 1, name: 'A' },
    patient: { id: 'p1', firstName: 'Ada', lastName: 'Bianchi', phone: '+39 333 1234567' },
  },
  ...{ location: { id: 2 }, updatedAt: '2026-03-01 10:00:00', duration: 30, treatments: [{ id: 3, price: '12,50' }] },
};
const RESOURCE_NAMES = Object.keys(RESOURCES) as ResourceName[];

const rows: Parser = {
  name: 'clinic-rows',
  seeds: [
    JSON.stringify(APPOINTMENT),
    JSON.stringify({ ...APPOINTMENT.patient, birthDate: '1980-02-29', email: 'a@b.example', consents: { sms: true } }),
    '{"sub":"7","tenants":[{"id":1,"name":"Studio"},{"id":"2"}]}',
  ],
  words: [
    ...JSON_WORDS,
    '"id"',
    '"start"',
    '"patient"',
    '"status"',
    '"tenants"',
    '2026-02-30',
    'T25:00',
    '+14:01',
    '1e21',
  ],
  pairs: JSON_PAIRS,
  read(input) {
    const row = parseJson(input);
    compileAppointmentRows(PROFILE)(row);
    compileBookings(PROFILE)(row);
    compilePatientRows(PROFILE)(row);
    for (const name of RESOURCE_NAMES) mapperOf(COMPILED, name)(row);
    readUserInfo(row, PROFILE);
  },
};

const timestamps: Parser = {
  name: 'timestamps',
  seeds: ['2026-03-29T02:30:00', '2026-03-02 10:00:00.123456789 +0100', '2026-02-28', '1999-12-31T23:59:60Z'],
  words: ['T', 'Z', '+14:00', '-00', ':', '.', ',', '29', '02', '0'],
  pairs: [],
  read(input) {
    const time = parseTimestamp(input.toString(), ZONE, { gap: 'later', overlap: 'earlier' });
    const at = time === null ? 0 : time.kind === 'date' ? time.dateMs : time.at;
    if (!Number.isSafeInteger(at)) throw new Error('a time that is no instant');
  },
};

const phones: Parser = {
  name: 'telephone-numbers',
  seeds: ['+39 333 1234567', '333 123 45 67 ext. 9', 'tel:+1-201-555-0123;ext=5'],
  words: ['+', '(', ')', 'ext', ';', ' ', '00', '\u0663', '-', '/'],
  pairs: [['(', ')']],
  read(input) {
    mobileNumber(input.toString(), 'IT');
  },
};

const crm: Parser = {
  name: 'crm-answers',
  seeds: [
    '{"id":"1","properties":{"key":"k","stamp":"s","email":null},"new":true}',
    '{"status":"error","category":"VALIDATION_ERROR","message":"Property values were not valid: [{\\"isValid\\":false,\\"error\\":\\"INVALID\\",\\"name\\":\\"email\\"}]","errors":[{"code":"X","context":{"propertyName":["a"]}}]}',
    '[{"errorCode":"UNABLE_TO_LOCK_ROW","message":"no","fields":["A__c"]}]',
    '{"done":true,"totalSize":1,"records":[{"Id":"001","attributes":{"type":"Contact"},"A__c":"1"}]}',
  ],
  words: [
    ...JSON_WORDS,
    '"message"',
    '"errors"',
    '"context"',
    '[{\\"name\\":\\"a\\"}]',
    'propertyName=a',
    'Existing ID: 1',
  ],
  pairs: JSON_PAIRS,
  async read(input) {
    const body = parseJson(input);
    readRecord({ keyProperty: 'key', stampProperty: 'stamp', ownerTag: 'tag' }, body);
    for (const status of [400, 401, 403, 409, 429, 503]) {
      readRefusal(status, body);
      hubspotErrors.of({ status, body, retryAfterMs: null });
      salesforceErrors.of({ status, body, retryAfterMs: null });
    }
    idAt(body, 'records.0.Id');
    await wholeResult({ status: 200, body, retryAfterMs: null });
  },
};

const SCHEMA = tenantSchema(secretSchemas({ env: {}, dir: '/nowhere' }));

const yaml: Parser = {
  name: 'tenant-files',
  seeds: [
    committed('config/tenants/example.yaml.sample'),
    'name: A\nlanguage: it\nzone: Europe/Rome\nclinic: { client: main }\n',
  ],
  words: [
    '\n  ',
    ': ',
    '- ',
    '&a ',
    '*a',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|\n',
    '>\n',
    '!!',
    '<<: *a',
    '#',
    '? ',
    '\t',
    '---\n',
  ],
  pairs: [
    ['[', ']'],
    ['{a: ', '}'],
    ['- ', ''],
    ['&a [*a, ', ']'],
  ],
  read(input) {
    const read = readYaml('tenants/a.yaml', input);
    if ('faults' in read) return;
    const parsed = SCHEMA.safeParse(read.file.value);
    for (const { path } of parsed.error?.issues.slice(0, 3) ?? []) read.file.lineOf(path);
  },
};

/** A larger document delays only the proposal of a profile: no daemon reads one. */
const LARGEST_DOCUMENT_BYTES = 16 * 1024;

const openApi: Parser = {
  name: 'openapi',
  seeds: [
    JSON.stringify({
      openapi: '3.0.3',
      paths: {
        '/v2/tenants/{id}/appointments': {
          get: {
            parameters: [{ name: 'from', in: 'query', schema: { type: 'string', format: 'date' } }],
            responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/List' } } } } },
          },
        },
      },
      components: {
        schemas: {
          List: {
            type: 'object',
            properties: { data: { type: 'array', items: { $ref: '#/components/schemas/Row' } } },
          },
          Row: {
            allOf: [
              { properties: { id: { type: 'integer' }, status: { enum: ['a', 'b'] }, start: { type: 'string' } } },
            ],
          },
        },
      },
    }),
    'swagger: "2.0"\npaths:\n  /v2/tenants/{id}/agendas:\n    get:\n      responses:\n        "200": { schema: { type: array, items: { $ref: "#/definitions/A" } } }\ndefinitions:\n  A: { properties: { id: { type: string }, parent: { $ref: "#/definitions/A" } } }\n',
  ],
  words: [
    ...JSON_WORDS,
    '"$ref"',
    '"allOf"',
    '"#/components/schemas/Row"',
    '"properties"',
    '"items"',
    '"enum"',
    '~1',
    '#/',
  ],
  pairs: [...JSON_PAIRS, ['{"allOf":[', ']}'], ['{"properties":{"a":', '}}']],
  read: (input) => checkSpecification(input.subarray(0, LARGEST_DOCUMENT_BYTES).toString(), PROFILE),
};

export const RECORDS: readonly Parser[] = [rows, timestamps, phones, crm, yaml, openApi];
