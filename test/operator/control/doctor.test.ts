import { expect, test } from 'vitest';
import { examine, type StateProbe } from '../../../src/operator/control/doctor.ts';
import { inEnglish } from '../../../src/operator/control/findings.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { paced } from '../../support/pace.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

/** Returns a name lookup for known names; a lookup of `silent` gets no answer. */
function lookingUp(known: readonly string[], silent = '') {
  const asked: string[] = [];
  const resolve = async (host: string) => {
    asked.push(host);
    if (known.includes(host)) return;
    throw Object.assign(new Error('no address'), { code: host === silent ? 'EAI_AGAIN' : 'ENOTFOUND' });
  };
  return { asked, resolve };
}

async function namesOf(resolve: StateProbe['resolve'], places: StateProbe['hosts'], managed: readonly string[] = []) {
  const findings = await findingsOf({ resolve, hosts: places }, managed);
  return findings.filter(({ subject }) => subject === 'DNS');
}

async function findingsOf(probe: Partial<StateProbe>, managed: readonly string[] = []) {
  const settings = { calendar: { id: 'x' }, rootUrl: 'https://dav.example/' };
  const targets = [{ model: createModelTarget(), configuration: { settings } }];
  const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets, clock: () => NOW });
  const state: StateProbe = {
    ...{
      check: async () => {},
      requireRights: async () => {},
      requireWrites: async () => {},
      requireIdentity: async () => {},
    },
    ...{ unopened: async () => [], openSecrets: () => [], lacksTrustedProxies: () => false, time: async () => NOW },
    ...{ hosts: () => [], resolve: null },
    view: async () => ({ durability: null, directory: 'kept', wentBackAt: null, wentBackTo: null, writesLostAt: null }),
    ...probe,
  };
  const installation = openInstallation({ tenants: [tenant], managed });
  const findings = await Array.fromAsync(examine(installation, state, {}, AbortSignal.timeout(paced(20_000))));
  return findings.map(inEnglish);
}

test('unresolvable host names are reported once with their setting, and those of a clinic with its file', async () => {
  const { asked, resolve } = lookingUp(['login.example'], 'mail.example');
  const places = [
    { host: 'api.exmaple', at: 'clinicClients.main.baseUrl' },
    { host: 'login.example', at: 'clinicClients.main.authUrl' },
    { host: 'login.example', at: 'clinicClients.other.authUrl' },
    { host: 'mail.example', at: 'alerts.email.host' },
  ];
  const found = await namesOf(resolve, () => places);
  expect(found.map(({ tenant, code, what, next }) => [tenant, code, what, next])).toEqual([
    [
      ...[null, 'name-unknown', 'the DNS knows no host api.exmaple (clinicClients.main.baseUrl)'],
      'correct clinicClients.main.baseUrl in clinic-mirror.yaml, or add the host to the DNS of this host',
    ],
    [
      ...[null, 'name-unknown', 'cannot look up mail.example (alerts.email.host)'],
      'check the DNS server of this host: the DNS server does not answer',
    ],
    [
      ...['studio-rossi', 'name-unknown', 'the DNS knows no host dav.example (targets.doctor.settings.rootUrl)'],
      'correct targets.doctor.settings.rootUrl in tenants/studio-rossi.yaml, or add the host to the DNS of this host',
    ],
  ]);
  expect(asked.toSorted()).toEqual(['api.exmaple', 'dav.example', 'login.example', 'mail.example']);
});

test('the success of all names is reported once; behind a proxy no name is resolved', async () => {
  const places = () => [{ host: 'api.example', at: 'clinicClients.main.baseUrl' }];
  const { resolve } = lookingUp(['api.example', 'dav.example']);
  expect(await namesOf(resolve, places)).toMatchObject([
    { tenant: null, result: 'ok', what: 'the DNS knows every host of the settings: 1' },
  ]);
  expect(await namesOf(null, places)).toMatchObject([{ tenant: null, result: 'not-asked' }]);
});

test('an unresolvable name of a managed tenant is reported with the commands that correct it', async () => {
  const found = await namesOf(lookingUp([]).resolve, () => [], ['studio-rossi']);
  expect(found.find(({ result }) => result === 'problem')?.next).toMatch(
    /^correct targets\.doctor\.settings\.rootUrl in studio-rossi\.yaml \(clinic-mirror tenants export /,
  );
});

test('a public https URL without a trusted proxy is a warning that names the setting', async () => {
  const codeOf = async (lacks: boolean) => {
    const findings = await findingsOf({ lacksTrustedProxies: () => lacks });
    return findings.find(({ code }) => code === 'proxy-not-trusted');
  };
  expect(await codeOf(true)).toMatchObject({ result: 'warning', next: expect.stringContaining('http.trustedProxies') });
  expect(await codeOf(false)).toBeUndefined();
});
