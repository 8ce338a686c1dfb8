// Tier: full. It runs npm several times.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Advisories, askForAdvisories, tellAdvisories } from '../../tools/advisories.ts';

/** Starts a registry with this answer to requests for advisories; it has no packages. @returns its URL */
async function startRegistry(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/advisories/bulk')) answer(response);
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Requests advisories for the packages of this project. */
function ask(registry: string): Promise<Advisories> {
  const cache = mkdtempSync(join(tmpdir(), 'advisories-'));
  onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
  return askForAdvisories({ ...process.env, npm_config_registry: registry, npm_config_cache: cache });
}

/** What is printed of an answer, and the exit code. */
function told(advisories: Advisories): { code: number; lines: string } {
  const error = vi.spyOn(console, 'error').mockReturnValue();
  const code = tellAdvisories(advisories);
  return { code, lines: error.mock.calls.flat().join('\n') };
}

test('a known advisory about a package of the lock file fails, with package, severity and URL', async () => {
  const advisory = { id: 1, url: 'https://advisories.test/1', title: 'stack overflow', severity: 'high' };
  const one = { ...advisory, vulnerable_versions: '<99.0.0', cwe: [], cvss: { score: 7, vectorString: null } };
  const answer = await ask(await startRegistry((response) => response.end(JSON.stringify({ yaml: [one] }))));
  expect(answer).toEqual({
    asked: true,
    found: ['yaml <99.0.0 (high): stack overflow, https://advisories.test/1'],
  });
  expect(told(answer)).toEqual({ code: 1, lines: expect.stringContaining('advisories FAILED: 1 known') });
});

test('without one it passes', async () => {
  const answer = await ask(await startRegistry((response) => response.end('{}')));
  expect(answer).toEqual({ asked: true, found: [] });
  expect(told(answer)).toEqual({ code: 0, lines: '[check] advisories passed: none is known' });
});

test('a registry without advisories, or an unreachable one, causes no failure and is reported as the reason', async () => {
  const refusing = await startRegistry((response) => response.writeHead(405).end());
  for (const [registry, why] of [
    [refusing, /405/],
    ['http://127.0.0.1:9', /./],
  ] as const) {
    const answer = await ask(registry);
    expect(answer).toEqual({ asked: false, why: expect.stringMatching(why) });
    expect(told(answer)).toEqual({ code: 0, lines: expect.stringMatching(/advisories NOT CHECKED: .*does not tell/) });
  }
});
