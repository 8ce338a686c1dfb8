import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import { checkSpecification } from '../../src/profile-finder/check-spec.ts';
import { compareSpecification } from '../../src/profile-finder/compare.ts';
import { propose } from '../../src/profile-finder/findings.ts';
import { readSpecification } from '../../src/profile-finder/openapi.ts';

const DOCUMENTED = clinicProfileSchema.parse({});
const PATH = '/v2/tenants/{id}/appointments';

/** A document with one list of appointments. */
function withAppointments(row: unknown, more: object = {}, parameters: unknown[] = []): string {
  const schema = { type: 'array', items: row };
  const get = { parameters, responses: { 200: { content: { 'application/json': { schema } } } } };
  return JSON.stringify({ openapi: '3.0.3', paths: { [PATH]: { get } }, ...more });
}

function compared(document: string) {
  return compareSpecification(readSpecification(document), DOCUMENTED);
}

function changed(document: string, location: string): unknown {
  return compared(document).changes.find(({ path }) => path.join('.') === location)?.value;
}

describe('a document that can not be used', () => {
  test.each([
    ['nothing', '', 'spec-not-openapi'],
    ['other JSON', '{"a": 1}', 'spec-not-openapi'],
    ['no paths', '{"openapi": "3.1.0"}', 'spec-not-openapi'],
    ['OpenAPI 4', '{"openapi": "4.0.0", "paths": {}}', 'spec-not-openapi'],
    ['text that is neither', 'a: b: [c', 'spec-unreadable'],
    ['more than 20 million characters', ' '.repeat(20_000_001), 'spec-too-large'],
  ])('%s', (_what, text, code) => {
    expect(() => readSpecification(text)).toThrow(expect.objectContaining({ actor: 'settings', code }));
  });

  test('aliases that grow without bound', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level += 1) {
      lines.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    }
    expect(() => readSpecification(`openapi: 3.0.0\npaths: {}\n${lines.join('\n')}`)).toThrow(
      expect.objectContaining({ code: 'spec-unreadable' }),
    );
  });
});

/** Processor time, the least of three runs. */
function leastMs(read: () => unknown): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    try {
      read();
    } catch {
      // Refused, which takes as long.
    }
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

// Found by fuzzing (seed 1176263487): a document of 16 kB took a quarter of a second, nearly all of it for the stacks of its errors.
test('a document with an error in each character is refused without the cost of a stack for each', () => {
  const text = `a: { b: s${'['.repeat(8_000)}`;
  const withStacks = leastMs(() => parseDocument(text, { prettyErrors: false, logLevel: 'silent' }));
  expect(leastMs(() => readSpecification(text))).toBeLessThan(withStacks / 2);
  expect(new Error('as before').stack).toContain('documents.test.ts');
});

describe('a document that is strange', () => {
  test('with circles and references out of it is read as far as it goes, and says so', () => {
    const row = {
      type: 'object',
      properties: {
        id: { type: 'string' },
        again: { $ref: '#/components/schemas/Row' },
        far: { $ref: 'other.yaml#/X' },
      },
      allOf: [{ $ref: '#/components/schemas/Row' }],
    };
    const document = withAppointments({ $ref: '#/components/schemas/Row' }, { components: { schemas: { Row: row } } });
    expect(readSpecification(document).remarks).toEqual([expect.stringContaining('other.yaml')]);
    expect(compared(document).findings).toContainEqual(
      expect.objectContaining({ location: 'appointments.fields.id', result: 'fits' }),
    );
  });

  test('with references in a ring, and schemas that double at every level, ends', () => {
    const schemas: Record<string, object> = {
      A: { $ref: '#/components/schemas/B' },
      B: { $ref: '#/components/schemas/A' },
    };
    for (let level = 0; level < 60; level += 1) {
      const next = { $ref: `#/components/schemas/L${level + 1}` };
      schemas[`L${level}`] = {
        allOf: [next, { ...next }],
        properties: { one: next, two: next, ring: { $ref: '#/components/schemas/A' } },
      };
    }
    const { remarks } = readSpecification(
      withAppointments({ $ref: '#/components/schemas/L0' }, { components: { schemas } }),
    );
    expect(remarks).toContainEqual(expect.stringContaining('more schemas'));
  });

  test('with names that are traps is no trap', () => {
    const row = JSON.parse(
      '{"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "a.b": {"type": "string"}, "with space": {"type": "string"}, "id": {"type": "string"}}}',
    );
    const { changes } = compared(withAppointments(row));
    expect(clinicProfileSchema.safeParse(parse(propose(DOCUMENTED, changes).yaml)).success).toBe(true);
    expect(Object.hasOwn(Object.prototype, 'type')).toBe(false);
  });

  test('of any JSON at all gives a profile that loads, or says that it is no document', () => {
    fc.assert(
      fc.property(fc.json(), fc.jsonValue(), fc.jsonValue(), (row, parameter, components) => {
        const document = withAppointments(JSON.parse(row), { components }, [parameter]);
        const { proposedProfile } = checkSpecification(document, DOCUMENTED);
        expect(clinicProfileSchema.safeParse(parse(proposedProfile)).success).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe('fields', () => {
  const row = (properties: Record<string, object>) => ({ type: 'object', properties });
  const text = { type: 'string' };

  test.each([
    ['start', { start_time: { type: 'string', format: 'date-time' } }, 'start_time'],
    ['start', { dataOraInizio: text }, 'dataOraInizio'],
    ['agendaId', { calendar: row({ id: text }) }, 'calendar.id'],
    ['patientId', { patient_id: text, patient: row({ id: text }) }, 'patient_id'],
    ['status', { stato: text }, 'stato'],
    ['updatedAt', { LastModified: text }, 'LastModified'],
  ])('%s is found in %j', (field, properties, path) => {
    expect(changed(withAppointments(row(properties)), `appointments.fields.${field}`)).toEqual([path]);
  });

  test('of another kind are not taken: a start in numbers, an id that is an object', () => {
    const findings = compared(withAppointments(row({ start: { type: 'integer' }, id: row({ a: text }) }))).findings;
    for (const field of ['start', 'id']) {
      expect(findings).toContainEqual(
        expect.objectContaining({
          location: `appointments.fields.${field}`,
          result: 'undecided',
          ask: expect.stringContaining('which field'),
        }),
      );
    }
  });

  test('two that could be the start are not guessed at', () => {
    const at = { type: 'string', format: 'date-time' };
    expect(changed(withAppointments(row({ alfa: at, beta: at })), 'appointments.fields.start')).toBe(undefined);
  });
});

describe('statuses', () => {
  const words: [string, string][] = [
    ['prenotato', 'booked'],
    ['Confermata', 'confirmed'],
    ['ACCETTATO', 'arrived'],
    ['in corso', 'in_progress'],
    ['eseguito', 'completed'],
    ['Annullato', 'cancelled'],
    ['disdetta', 'cancelled'],
    ['non-presentato', 'no_show'],
    ['assente', 'no_show'],
    ['entered-in-error', 'cancelled'],
    ['checked_in', 'arrived'],
    ['fulfilled', 'completed'],
  ];
  test('in the words of clinics are known', () => {
    const row = { type: 'object', properties: { status: { type: 'string', enum: words.map(([word]) => word) } } };
    expect(changed(withAppointments(row), 'appointments.statuses')).toEqual(Object.fromEntries(words));
  });
});

describe('states', () => {
  const withState = (state: object, more: object = {}) =>
    withAppointments({ type: 'object', properties: { id: { type: 'string' }, state, ...more } });
  const questionOf = (document: string, location: string) =>
    compared(document).findings.find((one) => one.location === location && one.result === 'undecided');

  test('that are numbers are asked about, with each number, and stand in the profile as not known', () => {
    const document = withState({ type: 'integer', enum: [0, 1, -1] });
    expect(questionOf(document, 'appointments.statuses')).toMatchObject({ there: '0, 1, -1' });
    const { yaml } = propose(DOCUMENTED, compared(document).changes);
    expect(parse(yaml).appointments.statuses).toEqual({ 0: 'unknown', 1: 'unknown', [-1]: 'unknown' });
    expect(yaml).toContain('to decide: booked, confirmed');
  });

  test.each([
    ['names beside them', { 'x-enum-varnames': ['BOOKED', 'IN_CARE', 'CANCELLED'] }],
    ['a description', { description: 'One of 1 = booked, 2 = in care, 9: cancelled.' }],
  ])('that are numbers are asked about whatever %s say', (_what, state) => {
    const document = withState({ type: 'integer', enum: [1, 2, 9], ...state });
    expect(questionOf(document, 'appointments.statuses')).toMatchObject({ there: '1, 2, 9' });
  });

  test('of which none means cancelled are asked about, unless a flag says it', () => {
    const state = { type: 'string', enum: ['booked', 'done'] };
    const location = 'appointments.statuses (cancelled)';
    expect(questionOf(withState(state), location)).toMatchObject({ there: 'booked, done' });
    expect(questionOf(withState(state, { cancelled_at: { type: 'string' } }), location)).toBe(undefined);
    expect(questionOf(withState({ ...state, enum: ['booked', 'void'] }), location)).toBe(undefined);
  });

  test('that nothing tells are asked for, with the fields that have few values', () => {
    const document = withAppointments({
      type: 'object',
      properties: { id: { type: 'string' }, esito: { type: 'integer' }, motivo: { type: 'string', enum: ['a', 'b'] } },
    });
    const question = questionOf(document, 'appointments.fields.status');
    expect(question?.ask).toMatch(/cancelled ones stay\. Few different values have: esito, motivo\.$/);
  });
});

describe('windows', () => {
  const row = { type: 'object', properties: { id: { type: 'string' } } };
  const parameter = (name: string, schema: object, required = true) => ({ name, in: 'query', required, schema });
  const time = { type: 'string', format: 'date-time' };

  test('by start are told by their names, and asked for earlier', () => {
    const seconds = { type: 'integer', description: 'Unix seconds' };
    const document = withAppointments(row, {}, [parameter('starts_from', seconds), parameter('starts_to', seconds)]);
    const { appointments } = propose(DOCUMENTED, compared(document).changes).profile;
    expect(appointments.filters).toMatchObject({ from: 'starts_from', to: 'starts_to' });
    expect(appointments.window).toMatchObject({ format: 'epoch-seconds', leadHours: 168 });
  });

  test('of which one end is not understood are asked about: no time is ever put into the query', () => {
    const { findings, changes } = compared(
      withAppointments(row, {}, [parameter('starts_from', time), parameter('horizon', time)]),
    );
    const asked = findings.filter(({ location }) => location === 'appointments.query').map(({ ask }) => ask);
    expect(asked).toEqual([
      expect.stringContaining('which end of a window'),
      expect.stringContaining('which end of a window'),
    ]);
    expect(changes.filter(({ path }) => path.includes('query'))).toEqual([]);
  });
});

describe('what few clinics have is asked, with what is there', () => {
  const properties = { id: { type: 'string' }, start: { type: 'string' } };
  const questionAt = (document: string, location: string) =>
    compared(document).findings.find((one) => one.location === location && one.result === 'undecided')?.ask;

  test.each(['duration', 'durata'])('the unit of %s, unless its name says it', (name) => {
    const withDuration = (field: string) =>
      withAppointments({ type: 'object', properties: { ...properties, [field]: { type: 'integer' } } });
    const location = 'appointments.durationUnit';
    expect(questionAt(withDuration(name), location)).toBe(`does ${name} count minutes or seconds?`);
    expect(questionAt(withDuration(`${name}Minuti`), location)).toBe(undefined);
    expect(changed(withDuration('durationSeconds'), location)).toBe('seconds');
  });

  test('the words of a choice, unless they are ours in another spelling', () => {
    const source = { type: 'string', enum: ['front_desk', 'portale'] };
    const document = withAppointments({ type: 'object', properties: { ...properties, source } });
    expect(questionAt(document, 'appointments.words.source')).toContain(
      '"portale" in source mean, of FrontDesk, Online',
    );
    expect(changed(document, 'appointments.words.source.FrontDesk')).toBe('front_desk');
  });

  test('where errors hold their word and their text', () => {
    const body = { type: 'object', properties: { codice: { type: 'string' }, message: { type: 'string' } } };
    const failure = { content: { 'application/json': { schema: body } } };
    const document = JSON.parse(withAppointments({ type: 'object', properties }));
    document.paths[PATH].get.responses[400] = failure;
    expect(questionAt(JSON.stringify(document), 'errors.codePaths')).toContain('It has: codice, message');
    expect(questionAt(JSON.stringify(document), 'errors.textPaths')).toBe(undefined);
  });

  test('the parts in which a report is sent', () => {
    const schema = { type: 'object', properties: { allegato: { type: 'string', format: 'binary' }, dati: {} } };
    const post = { requestBody: { content: { 'multipart/form-data': { schema } } }, responses: {} };
    const paths = { '/v2/tenants/{id}/medical-reports': { post } };
    const document = JSON.stringify({ openapi: '3.0.3', paths });
    expect(questionAt(document, 'medicalReports.upload')).toContain('multipart/form-data: allegato, dati');
  });
});

describe('operations that are not there', () => {
  test('are no difference, but those without which nothing is kept in step', () => {
    const { findings } = compared(withAppointments({ type: 'object', properties: { id: { type: 'string' } } }));
    const routes = (result: string) =>
      findings.filter((one) => one.area === 'routes' && one.result === result).map(({ location }) => location);
    expect(routes('differs')).toEqual(['userInfo.read', 'agendas.list', 'appointments.read', 'locations.list']);
    expect(routes('absent')).toContain('invoices.create');
  });
});

describe('paging', () => {
  const number = (name: string, more: object = {}) => ({ name, in: 'query', schema: { type: 'integer', ...more } });
  test.each([
    [
      'offset and limit',
      [number('skip'), number('take', { maximum: 50 })],
      { style: 'offset-limit', offsetParameter: 'skip', limitParameter: 'take', cap: 50, size: 50 },
    ],
    [
      'pages from 0',
      [number('page', { minimum: 0 }), number('size')],
      { style: 'page-size', pageParameter: 'page', sizeParameter: 'size', startIndex: 0 },
    ],
    ['nothing', [], { style: 'none' }],
  ])('by %s', (_what, parameters, paging) => {
    const row = { type: 'object', properties: { id: { type: 'string' } } };
    expect(changed(withAppointments(row, {}, parameters), 'paging')).toMatchObject(paging);
  });
});

describe('a filter for what changed', () => {
  const row = { type: 'object', properties: { id: { type: 'string' }, start: { type: 'string' } } };
  const PLACE = 'appointments.rereading.changedSince.parameter';
  const named = (name: string) => withAppointments(row, {}, [{ name, in: 'query', schema: { type: 'string' } }]);
  const profileWith = (parameter: string | null) =>
    clinicProfileSchema.parse({ appointments: { rereading: { changedSince: { parameter } } } });
  const found = (document: string, parameter: string | null) => {
    const { findings, changes } = compareSpecification(readSpecification(document), profileWith(parameter));
    const change = changes.find(({ path }) => path.join('.') === PLACE);
    return [findings.find(({ location }) => location === PLACE)?.result, change?.value];
  };

  test('is asked about, and never proposed by itself', () => {
    expect(found(named('modified_since'), null)).toEqual(['undecided', undefined]);
    expect(found(named('colour'), null)).toEqual([undefined, undefined]);
  });

  test('that the profile names is compared', () => {
    expect(found(named('q'), 'q')).toEqual(['fits', undefined]);
    expect(found(named('updatedAfter'), 'q')).toEqual(['differs', 'updatedAfter']);
    expect(found(named('colour'), 'q')).toEqual(['differs', null]);
  });
});
