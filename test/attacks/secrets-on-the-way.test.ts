import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { isSameSite, resolveHref } from '../../src/connectors/caldav/webdav.ts';
import { clinicProvider, mayBeNamedBy } from '../../src/oauth/providers.ts';
import { createMetadata } from '../../src/oauth/server.ts';
import { addClinic } from '../../src/operator/cli/clinic-commands.ts';
import { openActing } from '../operator/control/acting.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

describe('credentials of one site are not sent to another', () => {
  test.each([
    ['a neighbour under a dynamic name', 'https://practice.duckdns.org/dav/', 'https://attacker.duckdns.org/dav/'],
    ['a neighbour at a hoster', 'https://practice.github.io/', 'https://attacker.github.io/'],
    ['a neighbour in a second level of a country', 'https://practice.co.uk/', 'https://attacker.co.uk/'],
    ['a neighbour in a region', 'https://practice.roma.it/', 'https://attacker.roma.it/'],
    ['the registrar of the dynamic names', 'https://practice.duckdns.org/', 'https://duckdns.org/'],
    ['another address', 'https://192.0.2.1/', 'https://198.51.100.1/'],
    ['another name of the own network', 'https://calendars/', 'https://attacker/'],
  ])('%s', (_, from, to) => {
    expect(isSameSite(new URL(from), new URL(to))).toBe(false);
    // A URL with the server's own host in the path is read as a path of the requested server.
    expect(resolveHref(new URL(from), to)?.host).toBe(new URL(from).host);
  });

  test.each([
    ['https://caldav.icloud.com/', 'https://p01-caldav.icloud.com/1/'],
    ['https://dav.practice.duckdns.org/', 'https://practice.duckdns.org/'],
    ['https://cloud.practice.co.uk/', 'https://dav.practice.co.uk/'],
  ])('but are sent to a host of the same site: %s to %s', (from, to) => {
    expect(isSameSite(new URL(from), new URL(to))).toBe(true);
  });
});

describe('a discovery document on the internet', () => {
  /** Returns the parsed discovery document of a server. */
  function read(issuer: string, told: Record<string, string>) {
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      ...told,
    };
    const http = { asFetch: () => async () => Response.json(document) };
    const provider = clinicProvider({ authUrl: issuer, clientId: 'mirror', clientSecret: null });
    return createMetadata({ provider, http: http as never, clock: Date.now })();
  }

  test.each([
    ['this host', { token_endpoint: 'http://127.0.0.1:6379/' }],
    ['this host, over https', { token_endpoint: 'https://127.0.0.1/' }],
    ['this host by its name', { token_endpoint: 'https://localhost/token' }],
    ['this host, as an IPv6', { token_endpoint: 'https://[::1]/token' }],
    ['this host, as an IPv6 that holds an IPv4', { token_endpoint: 'https://[::ffff:127.0.0.1]/token' }],
    ['the metadata service of a cloud', { token_endpoint: 'https://169.254.169.254/token' }],
    ['another container of the host', { revocation_endpoint: 'https://redis/revoke' }],
    ['the own network', { device_authorization_endpoint: 'https://10.0.0.8/device' }],
    ['the own network by a name', { userinfo_endpoint: 'https://vault.internal/userinfo' }],
    ['plain http', { jwks_uri: 'http://login.clinic.example/jwks' }],
  ])('does not lead to %s', async (_, told) => {
    await expect(read('https://login.clinic.example', told)).rejects.toMatchObject({ code: 'insecure-address' });
  });

  test('leads to other hosts of the internet; a document in the operator’s network leads into that network', async () => {
    await expect(
      read('https://login.clinic.example', { token_endpoint: 'https://tokens.example/t' }),
    ).resolves.toMatchObject({
      token_endpoint: 'https://tokens.example/t',
    });
    expect(mayBeNamedBy('https://login.internal', 'https://10.0.0.8/token')).toBe(true);
    expect(mayBeNamedBy('http://127.0.0.1:4000', 'http://127.0.0.1:4001/token')).toBe(true);
    expect(mayBeNamedBy('https://login.internal', 'http://10.0.0.8/token')).toBe(false);
  });
});

describe('patient data to write, or to filter a list by', () => {
  async function run(options: string[], input = '') {
    const clinic = new Command('clinic').exitOverride();
    let opened = false;
    addClinic(clinic, {
      withClinic: (_tenant, work) => work(new Proxy({}, { get: () => (opened = true) }) as never, openActing()),
      read: async () => input,
      write: async () => {},
      out: () => {},
      err: () => {},
      signal: new AbortController().signal,
    });
    const error = await clinic
      .parseAsync(['aurora', 'patients', ...options], { from: 'user' })
      .catch((thrown: unknown) => thrown);
    return { error, opened };
  }

  describe.each([
    ['--data', ['p1', '--write', 'update']],
    ['--params', []],
  ])('with %s', (option, others) => {
    test('is not read from the arguments, which every user of the host sees', async () => {
      const { error, opened } = await run([...others, option, '{"phone": "+39 320 1234567"}']);
      expect([error, opened]).toEqual([expect.objectContaining({ code: 'data-in-arguments' }), false]);
      expect(String((error as Error).message)).not.toContain('1234567');
    });

    test('is read from standard input or from a file', async () => {
      for (const source of ['-', '@file.json']) {
        expect((await run([...others, option, source], 'no JSON')).error).toMatchObject({ code: 'bad-data' });
      }
    });
  });

  test('is not read from a name with a value either', async () => {
    const { error, opened } = await run(['--param', 'lastName=Rossi']);
    expect([error, opened]).toEqual([expect.objectContaining({ code: 'commander.unknownOption' }), false]);
  });
});

describe('with certificate checks off', () => {
  async function started(value: string) {
    const child = spawn(process.execPath, [CLI, '--config', '/nowhere', 'config', 'check'], {
      env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: value },
    });
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    return { err: err.replaceAll(/\s+/g, ' '), code };
  }

  test('no command starts, and the message names the fix', async () => {
    const { err, code } = await started('0');
    expect(code).toBe(1);
    expect(err).toContain('(certificates-unchecked). What to do: unset the variable');
  });

  test('with certificate checks on, the command runs', async () => {
    expect((await started('1')).err).not.toContain('certificates-unchecked');
  });
});
