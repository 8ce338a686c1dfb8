import { createHash, verify, X509Certificate } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startGraphSandbox } from '../../sandbox/graph/index.ts';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { createClientCredentialsAuthorizer } from '../../src/oauth/client-credentials.ts';
import { microsoftProvider } from '../../src/oauth/providers.ts';
import { paced } from '../support/pace.ts';
import { NEVER } from './connection.ts';
import { oauthError, startTokenServer, type TokenServer } from './token-server.ts';

const SCOPE = 'https://graph.microsoft.com/.default';

/** A self-signed certificate, as an operator registers one with the application. */
function makeCertificate() {
  const { certificate, privateKey } = createCertificate();
  const { raw, publicKey } = new X509Certificate(certificate);
  const thumbprint = createHash('sha1').update(raw).digest('base64url');
  return { pem: `${privateKey}${certificate}`, keyPem: privateKey, certificatePem: certificate, publicKey, thumbprint };
}

function authorizerOf(
  server: Pick<TokenServer, 'url'>,
  { secret = null, certificate = null }: { secret?: string | null; certificate?: string | null },
  clock: () => number = Date.now,
) {
  const http = createHttpClient({ userAgent: 'test', clock, timeoutMs: paced(2_000) });
  const provider = microsoftProvider({
    authority: server.url,
    directory: 'clinic.example',
    clientId: 'app-1',
    clientSecret: secret,
  });
  // The scripted server knows one path for tokens.
  const endpoints = { authorization: '', token: `${server.url}/token`, revocation: null };
  return createClientCredentialsAuthorizer(
    { connection: 'outlook', certificate, scope: SCOPE },
    { provider: { ...provider, endpoints }, http, clock },
  );
}

async function openScripted() {
  const server = await startTokenServer();
  let issued = 0;
  server.onToken = () => {
    issued += 1;
    return { body: { access_token: `token-${issued}`, token_type: 'Bearer', expires_in: 4_500 } };
  };
  return server;
}

function assertionOf(form: URLSearchParams | undefined, { publicKey }: ReturnType<typeof makeCertificate>) {
  const [header = '', payload = '', signature = ''] = (form?.get('client_assertion') ?? '').split('.');
  const signed = Buffer.from(`${header}.${payload}`);
  expect(verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  const parse = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());
  return { header: parse(header), payload: parse(payload) };
}

describe("an application's own connection", () => {
  test('requests a token with its secret, once for all concurrent callers, and again before the token expires', async () => {
    let now = Date.now();
    const server = await openScripted();
    const authorizer = authorizerOf(server, { secret: 'secret-1' }, () => now);
    const headers = await Promise.all(Array.from({ length: 10 }, () => authorizer.header(NEVER)));
    expect(new Set(headers)).toEqual(new Set(['Bearer token-1']));
    expect(server.posted).toHaveLength(1);
    expect(Object.fromEntries(server.posted[0]?.form ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'app-1',
      client_secret: 'secret-1',
      scope: SCOPE,
    });
    now += 69 * 60_000;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
    now += 2 * 60_000;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-2');
    expect(await authorizer.renew(NEVER)).toBe('Bearer token-3');
    expect(authorizer.quotaUser).toBeNull();
  });

  test('asks with an assertion that its certificate signed, and goes before a secret', async () => {
    const server = await openScripted();
    const certificate = makeCertificate();
    const authorizer = authorizerOf(server, { secret: 'secret-1', certificate: certificate.pem });
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
    const form = server.posted[0]?.form;
    expect(form?.get('client_secret')).toBeNull();
    expect(form?.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const { header, payload } = assertionOf(form, certificate);
    expect(header).toMatchObject({ alg: 'RS256', x5t: certificate.thumbprint });
    expect(payload).toMatchObject({ iss: 'app-1', sub: 'app-1', aud: `${server.url}/token` });
    await authorizer.renew(NEVER);
    const again = assertionOf(server.posted[1]?.form, certificate);
    expect(again.payload.jti, 'an assertion is used once').not.toBe(payload.jti);
  });

  test('a clock ten minutes off: the assertion is dated again by the server clock', async () => {
    const server = await openScripted();
    const certificate = makeCertificate();
    const serverNow = () => Date.now() + 600_000;
    server.dateHeader = () => new Date(serverNow()).toUTCString();
    const grant = server.onToken;
    server.onToken = (form) => {
      const { exp } = assertionOf(form, certificate).payload;
      return Number(exp) * 1_000 < serverNow() ? oauthError('invalid_client', 401) : grant(form);
    };
    const authorizer = authorizerOf(server, { certificate: certificate.pem });
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
    expect(server.posted).toHaveLength(2);
  });

  test.each([
    ['invalid_client', 401, 'client-rejected'],
    ['unauthorized_client', 400, 'application-not-allowed'],
    ['invalid_scope', 400, 'application-not-allowed'],
    ['invalid_grant', 400, 'application-not-allowed'],
  ])('%s is a fault in the settings, and is reported without secrets', async (error, status, code) => {
    const server = await openScripted();
    server.onToken = () => oauthError(error, status);
    const authorizer = authorizerOf(server, { secret: 'secret-canary' });
    const thrown = await authorizer.header(NEVER).catch((each: unknown) => each);
    expect(thrown).toMatchObject({ actor: 'settings', code, retry: 'never' });
    expect(`${String(thrown)} ${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toMatch(/canary/);
    expect(server.posted).toHaveLength(1);
  });

  test('an unreachable server is queried again after a delay', async () => {
    const server = await openScripted();
    const grant = server.onToken;
    server.onToken = () => ({ status: 503, body: 'busy', headers: { 'retry-after': '7' } });
    const authorizer = authorizerOf(server, { secret: 's' });
    await expect(authorizer.header(NEVER)).rejects.toMatchObject({ actor: 'remote', retryAfterMs: 7_000 });
    server.onToken = grant;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
  });

  test('needs a secret, or a key and its own certificate in one PEM', () => {
    const [one, other] = [makeCertificate(), makeCertificate()];
    const server = { url: 'https://login.example' };
    expect(() => authorizerOf(server, {})).toThrow(
      expect.objectContaining({ actor: 'settings', code: 'client-proof-missing' }),
    );
    for (const certificate of ['no PEM', one.keyPem, one.certificatePem, `${one.keyPem}${other.certificatePem}`]) {
      expect(() => authorizerOf(server, { certificate })).toThrow(
        expect.objectContaining({ actor: 'settings', code: 'client-certificate' }),
      );
    }
    expect(() => authorizerOf(server, { certificate: `${one.certificatePem}${one.keyPem}` })).not.toThrow();
  });
});

describe("an application's own connection to the Graph sandbox, which checks secret, signature and audience", () => {
  async function openGraph() {
    const sandbox = await startGraphSandbox();
    onTestFinished(() => sandbox.close());
    sandbox.addMailbox('doctor@clinic.example');
    const http = createHttpClient({ userAgent: 'test', clock: Date.now });
    const authorizer = ({
      secret = null,
      certificate = null,
    }: {
      secret?: string | null;
      certificate?: string | null;
    }) => {
      const provider = microsoftProvider({
        authority: sandbox.url,
        directory: sandbox.tenantId,
        clientId: sandbox.application.clientId,
        clientSecret: secret,
      });
      const settings = { connection: 'outlook', certificate, scope: SCOPE };
      return createClientCredentialsAuthorizer(settings, { provider, http, clock: Date.now });
    };
    const reads = async (authorization: string) => {
      const url = `${sandbox.graphUrl}/v1.0/users/doctor@clinic.example/calendar`;
      return (await fetch(url, { headers: { authorization } })).status;
    };
    return { sandbox, authorizer, reads };
  }

  test('reaches mailboxes with a secret and with a certificate', async () => {
    const { sandbox, authorizer, reads } = await openGraph();
    const certificate = makeCertificate();
    sandbox.registerCertificate(certificate.certificatePem);
    const bySecret = authorizer({ secret: sandbox.application.clientSecret ?? '' });
    expect(await reads(await bySecret.header(NEVER))).toBe(200);
    expect(await reads(await authorizer({ certificate: certificate.pem }).header(NEVER))).toBe(200);
  });

  test('is refused with a wrong secret and with an unregistered certificate', async () => {
    const { authorizer } = await openGraph();
    const refused = { actor: 'settings', code: 'client-rejected', retry: 'never' };
    await expect(authorizer({ secret: 'wrong' }).header(NEVER)).rejects.toMatchObject(refused);
    await expect(authorizer({ certificate: makeCertificate().pem }).header(NEVER)).rejects.toMatchObject(refused);
  });
});
