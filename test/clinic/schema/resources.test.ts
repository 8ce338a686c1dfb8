import { describe, expect, test } from 'vitest';
import { field } from '../../../src/clinic/schema/fields.ts';
import { appointments, listProfile, RESOURCE_PATHS, RESOURCES } from '../../../src/clinic/schema/resources.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';

/** The faults of a profile of appointments, each with its path. */
function faultsOf(profile: object): string[] {
  const issues = appointments.safeParse(profile).error?.issues ?? [];
  return issues.map(({ path, message }) => `${path.join('.')}: ${render(textOfIssue(message))}`);
}

test('every list has its own path', () => {
  const paths = Object.keys(RESOURCES).map((name) => RESOURCE_PATHS[name as keyof typeof RESOURCES].join('/'));
  expect(new Set(paths).size).toBe(Object.keys(RESOURCES).length);
});

describe('fields that are written as numbers', () => {
  const { id, text, word, choice, flag, whole, list } = field;
  const shape = {
    ...{ id: id('id'), name: text('name'), unit: word('unit'), state: choice(['A'], 'state') },
    ...{
      active: flag('active'),
      count: whole('count'),
      lines: list({ code: id('code'), note: text('note') }, 'lines'),
    },
  };
  const { numbers } = listProfile(shape, { reason: word('reason') });

  test.each(['id', 'unit', 'state', 'active', 'lines.code', 'reason'])('may be %s', (name) => {
    expect(numbers.safeParse([name]).success).toBe(true);
  });

  test.each(['name', 'count', 'lines', 'code', 'lines.note', 'nobody'])('must not be %s', (name) => {
    const [issue] = numbers.safeParse([name]).error?.issues ?? [];
    expect(render(textOfIssue(issue?.message ?? ''))).toContain('use an id, a string, a choice');
  });
});

describe('the page of an appointment', () => {
  test.each(['https://clinic.example/agenda?open={id}', 'https://clinic.example/{id}/of/{id}#x'])(
    'may be %s',
    (pageUrl) => {
      expect(faultsOf({ pageUrl })).toEqual([]);
    },
  );

  test.each([
    ['without the id', 'https://clinic.example/agenda'],
    ['without TLS', 'http://clinic.example/{id}'],
    ['with a login', 'https://ada@clinic.example/{id}'],
    ['on a host that the id decides', 'https://{id}.example/'],
    ['with a part that nothing fills', 'https://clinic.example/{tenant}/{id}'],
    ['that is no absolute URL', '/agenda/{id}'],
  ])('is refused %s', (_, pageUrl) => {
    expect(faultsOf({ pageUrl })).toEqual([expect.stringMatching(/^pageUrl: .*\{id\}/)]);
  });
});

test.each<[string, boolean]>([
  ['/Appointment', true],
  ['/clinics/{tenantId}/visits', true],
  ['Appointment', false],
  ['/visits?x=1', false],
  ['/{clinic}/visits', false],
  ['/visits/', false],
])('the URL path of a list may be %s: %s', (urlPath, isTaken) => {
  expect(faultsOf({ urlPath })).toEqual(isTaken ? [] : [expect.stringContaining('urlPath: begin with a slash')]);
});

describe('the rules of appointments', () => {
  test('request changes only if rows have a time of change', () => {
    const rereading = { changedSince: { parameter: 'updatedSince' } };
    expect(faultsOf({ rereading })).toEqual([]);
    expect(faultsOf({ rereading, fields: { updatedAt: [] } })).toEqual([
      'rereading.changedSince.parameter: fields.updatedAt is required: without it, the time of the last change is unknown',
    ]);
    expect(faultsOf({ fields: { updatedAt: [] } })).toEqual([]);
  });

  test('name both ends of a window, or neither', () => {
    expect(faultsOf({ filters: { from: null, to: null } })).toEqual([]);
    for (const filters of [{ from: null }, { to: null }])
      expect(faultsOf({ filters })).toEqual(['filters: from and to are required together']);
  });

  test.each([
    ['true', true, true],
    ['a number', 1, true],
    ['a list of values', ['x', 2], true],
    ['an empty list', [], false],
    ['null', null, false],
  ])('use %s as the value that raises a flag: %s → %s', (_, when, isTaken) => {
    expect(faultsOf({ flags: [{ path: 'a', when, status: 'arrived' }] }).length === 0).toBe(isTaken);
    expect(faultsOf({ deletedFlags: [{ path: 'a', when }] }).length === 0).toBe(isTaken);
  });
});
