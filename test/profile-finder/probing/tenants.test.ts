import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readUserInfo } from '../../../src/clinic/read/users.ts';
import { probeClinic } from '../../../src/profile-finder/probe.ts';
import { tenantPlaces } from '../../../src/profile-finder/probing/tenants.ts';
import { WINDOW } from '../../clinic/dialect-truth.ts';
import { documented, speak } from '../../clinic/dialects.ts';
import { failureOf, profileOf, unhurried } from '../../clinic/open-client.ts';
import { type Script, startScriptedServer } from '../../clinic/scripted-server.ts';
import { openClinicAccess } from '../../control/open-clinic-access.ts';

const LISTS = [
  'tenants',
  'clinics',
  'Studios',
  'organizations',
  'practices',
  'work_places',
  'sedi',
  'accounts',
] as const;
const IDS = ['id', '_id', 'uid', 'Key', 'tenantId', 'clinic_id', 'code', 'uuid'] as const;
const FORMS = ['rows', 'one', 'ids', 'one-id', 'memberships'] as const;

/** The user information of any clinic: what it calls its tenants, how deep they are, and what else it says of the user. */
const anyUser = fc.record({
  list: fc.constantFrom(...LISTS),
  id: fc.constantFrom(...IDS),
  form: fc.constantFrom(...FORMS),
  above: fc.constantFrom([], ['user'], ['data', 'profile']),
  ids: fc.uniqueArray(fc.integer({ min: 1, max: 99_999 }), { minLength: 1, maxLength: 3 }),
  isText: fc.boolean(),
});

function userIn({ list, id, form, above, ids, isText }: Parameters<Parameters<typeof anyUser.map>[0]>[0]) {
  const told = ids.map((one) => (isText ? `t-${one}` : one));
  const row = (one: string | number) => ({ [id]: one, name: 'Studio Uno' });
  const inner = {
    rows: { [list]: told.map(row) },
    one: { [list]: row(told[0] as number) },
    ids: { [list]: told },
    'one-id': { clinicId: told[0] },
    memberships: { memberships: told.map((one) => ({ role: 'doctor', clinic: row(one) })) },
  }[form];
  const besides = { sub: 'u1', email: 'ada@x.example', roles: ['doctor'], permissions: [{ id: 5, name: 'read' }] };
  const answer = above.reduceRight<object>((within, name) => ({ [name]: within }), { ...inner, language: 'it' });
  return {
    answer: { ...besides, ...answer },
    ids: (form === 'one' || form === 'one-id' ? told.slice(0, 1) : told).map(String),
  };
}

describe('the tenants in user information', () => {
  test('are found whatever it calls them, and read where they were found', () => {
    fc.assert(
      fc.property(anyUser, (form) => {
        const { answer, ids } = userIn(form);
        const [place] = tenantPlaces(answer);
        const fields = { id: [...(place?.id ?? [])], name: [...(place?.name ?? [])] };
        const { tenants } = readUserInfo(answer, profileOf({ tenants: { path: place?.path ?? 'none', fields } }));
        expect(tenants.map(({ id }) => id)).toEqual(ids);
      }),
    );
  });

  test('are not seen in what a user may do, or who they are', () => {
    const user = { sub: 'u1', roles: [{ id: 1, name: 'doctor' }], permissions: ['a'], groups: [{ id: 5 }] };
    expect(tenantPlaces({ ...user, email: 'ada@x.example', addresses: [{ id: 7 }] })).toEqual([]);
  });
});

/** The documented clinic with user information of another form. */
function tellingUser(user: unknown): Script {
  const script = speak(documented, {});
  return (request) => (request.path.endsWith('/userinfo') ? { json: user } : script(request));
}

async function probe(user: unknown, configuredId: string | null = null) {
  await using server = await startScriptedServer(tellingUser(user));
  const access = openClinicAccess({ baseUrl: server.url }, 'token', profileOf({}), { clock: () => WINDOW.fromAt });
  return await probeClinic({ ...access, configuredId }, () => {}, unhurried());
}

describe('a probe of a clinic whose user information no profile reads yet', () => {
  test('goes on with the tenant where it is likely, and proposes the path', async () => {
    const { proposedProfile, toDecide } = await probe({ sub: 'u1', work: { clinics: [{ uid: 't1', title: 'Uno' }] } });
    expect(proposedProfile).toMatch(/tenants:\n.*\n? *path: work\.clinics/);
    expect(proposedProfile).toContain('id: [uid]');
    expect(toDecide.find(({ place }) => place === 'tenants.path')?.ask).toContain('does work.clinics list the clinics');
  });

  test('goes on with the one that the operator chose', async () => {
    const clinics = [{ uid: 't1' }, { uid: 't2' }];
    expect((await probe({ sub: 'u1', clinics }, 't1')).proposedProfile).toContain('path: clinics');
    const failure = await failureOf(probe({ sub: 'u1', clinics }));
    expect(failure).toMatchObject({ code: 'tenant-choice' });
    expect(failure.remedy).toBe(
      'set tenants.path to clinics and tenants.fields.id to [uid] in the clinic profile; set clinic.tenantId to one of: t1, t2',
    );
  });

  test('names the fields that are there where none looks like tenants', async () => {
    const failure = await failureOf(probe({ sub: 'u1', theme: 'dark' }));
    expect(failure).toMatchObject({ code: 'tenants-not-found' });
    expect(failure.message).toContain('it has these fields: sub, theme');
  });
});
