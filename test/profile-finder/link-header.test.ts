import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { DAY_MS } from '../../src/model/time.ts';
import { compareSpecification } from '../../src/profile-finder/compare.ts';
import { readSpecification } from '../../src/profile-finder/openapi.ts';
import { probeClinic } from '../../src/profile-finder/probe.ts';
import { profileOf, readingsOf, unhurried, type WrittenProfile } from '../clinic/open-client.ts';
import { startScriptedServer } from '../clinic/scripted-server.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';
import { frontDeskToken, NOW } from '../sandbox/clinic/support.ts';

const DOCUMENTED = profileOf({});

describe('a clinic that pages by Link headers', () => {
  let sandbox: ClinicSandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 210, now: NOW, linkPages: 43 });
    token = await frontDeskToken(sandbox);
  });
  afterAll(() => sandbox.close());

  function readWith(written: WrittenProfile) {
    const { context } = openClinicAccess(sandbox, token, profileOf(written), { clock: () => NOW });
    const window = { fromAt: NOW - 400 * DAY_MS, toAt: NOW + 400 * DAY_MS };
    return readingsOf(context).readAppointments(sandbox.tenants[0]?.id ?? '', { agendaIds: null, window }, unhurried());
  }

  test('is read whole by its style, without filters and with', async () => {
    const all = [...sandbox.appointments(sandbox.tenants[0]?.id ?? '')].length;
    const whole = await readWith({ paging: { style: 'link-header' } });
    expect([whole.completeness, whole.records.size]).toEqual(['complete', all]);
    const days = await readWith({ paging: { style: 'link-header' }, appointments: { window: { maxDays: 30 } } });
    expect([days.completeness, days.records.size]).toEqual(['complete', all]);
  });

  test.each<[NonNullable<WrittenProfile['paging']>]>([
    [{ style: 'none' }],
    [{ style: 'next-link' }],
    [{ style: 'cursor' }],
  ])('is never whole under %j', async (paging) => {
    expect(await readWith({ paging })).toMatchObject({ completeness: 'partial' });
  });

  test('is recognised by the probe, whose profile reads it whole', async () => {
    const access = openClinicAccess(sandbox, token, DOCUMENTED, { clock: () => NOW });
    const probe = await probeClinic(access, () => {}, unhurried());
    const proposed = parse(probe.proposedProfile) as WrittenProfile;
    expect(proposed.paging).toMatchObject({ style: 'link-header' });
    expect(await readWith(proposed)).toMatchObject({ completeness: 'complete' });
  });
});

test('a link to another origin is refused, and the token never goes there', async () => {
  await using foreign = await startScriptedServer(() => ({ json: [] }));
  await using server = await startScriptedServer(() => ({
    json: [{ id: '1' }],
    headers: { link: `<${foreign.url}/next>; rel="next"` },
  }));
  const { context } = openClinicAccess(
    { baseUrl: server.url },
    'token',
    profileOf({ paging: { style: 'link-header' } }),
  );
  const reading = Array.fromAsync(readingsOf(context).agendas.list('t', [], unhurried()));
  await expect(reading).rejects.toMatchObject({ actor: 'contract', code: 'foreign-link' });
  expect(foreign.requests).toEqual([]);
});

describe('a document', () => {
  const compared = (operation: object) =>
    compareSpecification(
      readSpecification(
        JSON.stringify({ openapi: '3.0.0', info: {}, paths: { '/v2/tenants/{tenantId}/agendas': { get: operation } } }),
      ),
      DOCUMENTED,
    );
  const rows = { 'application/json': { schema: { type: 'array', items: { properties: { id: { type: 'string' } } } } } };
  const named = (...names: string[]) => names.map((name) => ({ name, in: 'query', schema: { type: 'integer' } }));
  const pagingIn = ({ changes }: ReturnType<typeof compared>) => changes.filter(({ path }) => path.at(-1) === 'paging');

  test('with a Link header in the answer proposes that style, with the parameter for the size', () => {
    const found = compared({
      parameters: named('page', 'per_page'),
      responses: { 200: { headers: { LINK: { schema: { type: 'string' } } }, content: rows } },
    });
    expect(pagingIn(found)).toMatchObject([{ value: { style: 'link-header', sizeParameter: 'per_page' } }]);
    const failing = compared({
      parameters: named('page', 'per_page'),
      responses: { 200: { content: rows }, 400: { headers: { Link: {} } } },
    });
    expect(pagingIn(failing)).toMatchObject([{ value: { style: 'page-size' } }]);
  });

  test.each(['page', 'offset', 'cursor', 'limit', 'size', 'per_page', '$top', '$skip', 'page[number]', 'page[size]'])(
    'with the parameter %s alone asks how the list pages, and proposes nothing',
    (name) => {
      const found = compared({ parameters: named(name), responses: { 200: { content: rows } } });
      expect(pagingIn(found)).toEqual([]);
      expect(found.findings).toContainEqual(
        expect.objectContaining({
          location: 'agendas.paging',
          result: 'undecided',
          ask: expect.stringContaining(name),
        }),
      );
    },
  );

  test('without any such parameter proposes none, as likely, and asks whether lists are whole', () => {
    const found = compared({ responses: { 200: { content: rows } } });
    expect(pagingIn(found)).toMatchObject([{ value: { style: 'none' }, comment: expect.stringContaining('likely') }]);
    expect(found.findings).toContainEqual(
      expect.objectContaining({ result: 'undecided', ask: expect.stringContaining('paging.cap') }),
    );
  });
});
