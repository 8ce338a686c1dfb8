// Tier: full. Unpacks and starts a browser.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { browserOf, pinnedBrowser } from '../../tools/browser.ts';

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const VERSION: string = manifest.devDependencies['@sparticuz/chromium'];
const UNPACKED = `chromium-${VERSION}`;

describe('the browser of the tests', () => {
  const linux = { platform: 'linux', arch: 'x64', chosen: undefined, isInstalled: () => true };

  test('is the pinned one on Linux on x64, also if another one is installed', () => {
    expect(browserOf(linux)).toBe('pinned');
    expect(browserOf({ ...linux, chosen: '' })).toBe('pinned');
  });

  test('is the one that the variable names, installed or not', () => {
    expect(browserOf({ ...linux, chosen: '/opt/browser', isInstalled: () => false })).toEqual({ path: '/opt/browser' });
  });

  test.each([
    ['linux', 'arm64'],
    ['darwin', 'x64'],
  ])('is an installed one on %s on %s, otherwise none', (platform, arch) => {
    const host = { ...linux, platform, arch };
    expect(browserOf(host)).toEqual({ path: '/usr/bin/chromium' });
    expect(browserOf({ ...host, isInstalled: (path) => path.endsWith('chrome') })).toEqual({
      path: '/usr/bin/google-chrome',
    });
    expect(browserOf({ ...host, isInstalled: () => false })).toBeNull();
  });
});

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'the pinned browser is unpacked once for several starts, also after an interrupted start, and runs',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-browser-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    mkdirSync(join(folder, `${UNPACKED}.partial`));
    writeFileSync(join(folder, `${UNPACKED}.partial`, 'chromium'), 'the start of a program');
    const waits: string[] = [];
    const unpack = () => pinnedBrowser(folder, (line) => waits.push(line));
    const [one, other] = await Promise.all([unpack(), unpack()]);
    expect(other).toEqual(one);
    expect(waits).toHaveLength(1);
    expect(readdirSync(folder).toSorted()).toEqual([UNPACKED, `${UNPACKED}.lock`]);
    const { stdout } = await run(one.path, ['--version'], { env: { ...process.env, ...one.env } });
    expect(stdout).toContain(` ${VERSION.split('.')[0]}.`);
    for (const path of Object.values(one.env)) expect(existsSync(path), path).toBe(true);
  },
);
