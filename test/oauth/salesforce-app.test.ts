import { describe, expect, onTestFinished, test } from 'vitest';
import { type SalesforceSandboxOptions, startSalesforceSandbox } from '../../sandbox/salesforce/index.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { salesforceProvider } from '../../src/oauth/crm-providers.ts';
import { audienceOf, createSalesforceAppAuthorizer } from '../../src/oauth/salesforce-app.ts';
import { paced } from '../support/pace.ts';
import { NEVER } from './connection.ts';

const USER = 'integration@clinic.example';

async function openSalesforce(options: SalesforceSandboxOptions = {}) {
  const sandbox = await startSalesforceSandbox({
    applications: [{ clientSecret: 'sandbox-secret', runAs: USER }],
    ...options,
  });
  onTestFinished(() => sandbox.close());
  const { certificate, privateKey } = sandbox.createCertificate();
  const pem = `${privateKey}${certificate}`;
  const authorizer = (
    changes: {
      subject?: string | null;
      certificate?: string | null;
      clientSecret?: string | null;
      clientId?: string;
    } = {},
    clock: () => number = Date.now,
  ) => {
    const { clientId, clientSecret, subject = null, certificate: own = pem } = changes;
    const provider = salesforceProvider({
      loginUrl: sandbox.loginUrl,
      clientId: clientId ?? sandbox.application.clientId,
      clientSecret: clientSecret === undefined ? (sandbox.application.clientSecret ?? null) : clientSecret,
    });
    const http = createHttpClient({ userAgent: 'test', clock, timeoutMs: paced(2_000) });
    return createSalesforceAppAuthorizer({ connection: 'crm', certificate: own, subject }, { provider, http, clock });
  };
  const register = () => {
    sandbox.application.certificates.push(certificate);
    sandbox.application.approvedUsers.push(USER);
  };
  const reads = async (place: string | undefined, authorization: string) => {
    const url = `${place}/services/data/${sandbox.apiVersion}/sobjects/Contact/describe`;
    return (await fetch(url, { headers: { authorization } })).status;
  };
  return { sandbox, authorizer, register, reads };
}

describe.each([
  ['by certificate as a named user', USER],
  ['by its secret', null],
])("an application's own connection to Salesforce, %s,", (_how, subject) => {
  test('works at the URL that comes with the token, requested once for all callers', async () => {
    const { sandbox, authorizer, register, reads } = await openSalesforce();
    register();
    const login = authorizer({ subject });
    const headers = await Promise.all(Array.from({ length: 10 }, () => login.header(NEVER)));
    expect(new Set(headers).size).toBe(1);
    expect(sandbox.counts.tokenRequests).toBe(1);
    expect(login.baseUrl?.()).toBe(sandbox.url);
    expect(await reads(login.baseUrl?.(), headers[0] ?? '')).toBe(200);
    expect(login.quotaUser).toBeNull();
  });

  test('is renewed after a 401, and finds an organisation that moved', async () => {
    const { sandbox, authorizer, register, reads } = await openSalesforce();
    register();
    const login = authorizer({ subject });
    const first = await login.header(NEVER);
    const moved = await sandbox.moveInstance();
    expect(await reads(login.baseUrl?.(), first)).toBe(401);
    const second = await login.renew(NEVER);
    expect(login.baseUrl?.()).toBe(moved);
    expect(await reads(moved, second)).toBe(200);
  });

  test('has no URL before the first header', async () => {
    const { authorizer } = await openSalesforce();
    expect(() => authorizer({ subject }).baseUrl?.()).toThrow(expect.objectContaining({ code: 'instance-unknown' }));
  });

  test('uses none of the grants of a user', async () => {
    const { sandbox, authorizer, register } = await openSalesforce();
    register();
    const login = authorizer({ subject });
    for (let round = 0; round < 8; round += 1) await login.renew(NEVER);
    expect(sandbox.liveGrants(USER)).toBe(0);
  });

  test("of an unknown client is the settings' fault", async () => {
    const { authorizer, register } = await openSalesforce();
    register();
    await expect(authorizer({ subject, clientId: 'other' }).header(NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'client-rejected',
      retry: 'never',
    });
  });
});

describe('authentication by certificate', () => {
  test.each([
    [
      'the user is not approved',
      { approvedUsers: [] },
      undefined,
      /^ask an administrator to approve the application for the user$/,
    ],
    ['the certificate is not registered', { certificates: [] }, undefined, /register the certificate/],
    ['the user is inactive', {}, 'inactive user', /^ask an administrator to activate the user again$/],
  ])('is refused when %s, without text of the vendor', async (_what, changes, refusal, remedy) => {
    const { sandbox, authorizer, register } = await openSalesforce();
    register();
    Object.assign(sandbox.application, changes);
    sandbox.refuseUser(USER, refusal);
    const thrown = await authorizer({ subject: USER })
      .header(NEVER)
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      actor: 'settings',
      code: 'application-not-allowed',
      retry: 'never',
      remedy: expect.stringMatching(remedy),
    });
    expect(`${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toMatch(/integration@|inactive user|consumer/);
  });

  test("a clock ten minutes off: the assertion is dated again by Salesforce's", async () => {
    const { sandbox, authorizer, register, reads } = await openSalesforce();
    register();
    const login = authorizer({ subject: USER }, () => Date.now() - 600_000);
    expect(await reads(sandbox.url, await login.header(NEVER))).toBe(200);
    expect(sandbox.counts.tokenRequests).toBe(2);
  });

  test.each([null, 'no PEM'])('needs a readable one, not %j', async (certificate) => {
    const { authorizer } = await openSalesforce();
    expect(() => authorizer({ subject: USER, certificate })).toThrow(
      expect.objectContaining({ actor: 'settings', code: 'client-certificate' }),
    );
  });

  test.each([
    ['https://login.salesforce.com', 'https://login.salesforce.com'],
    ['https://test.salesforce.com', 'https://test.salesforce.com'],
    ['https://clinic.my.salesforce.com', 'https://login.salesforce.com'],
    ['https://clinic--uat.sandbox.my.salesforce.com', 'https://test.salesforce.com'],
    ['https://my.salesforce.com.example.org', 'https://my.salesforce.com.example.org'],
    ['http://127.0.0.1:4650', 'http://127.0.0.1:4650'],
  ])('at %s names %s as its audience', (loginUrl, audience) => {
    expect(audienceOf(loginUrl)).toBe(audience);
  });
});

describe('authentication by secret', () => {
  test('is refused with a wrong one', async () => {
    const { authorizer } = await openSalesforce();
    const thrown = await authorizer({ clientSecret: 'canary' })
      .header(NEVER)
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ actor: 'settings', code: 'client-rejected' });
    expect(`${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toContain('canary');
  });

  test('is refused while the organisation has not switched it on', async () => {
    const { authorizer } = await openSalesforce({ applications: [{ clientSecret: 'sandbox-secret' }] });
    await expect(authorizer().header(NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'application-not-allowed',
      remedy: expect.stringContaining('client credentials flow'),
    });
  });

  test('needs one', async () => {
    const { authorizer } = await openSalesforce();
    expect(() => authorizer({ clientSecret: null })).toThrow(
      expect.objectContaining({ actor: 'settings', code: 'client-proof-missing' }),
    );
  });
});
