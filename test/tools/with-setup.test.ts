// Tier: full. It runs npm ci many times.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The only dependency is a folder of the project, so that `npm ci` needs no network. */
describe.each([
  { how: 'with a Node that needs no replacing', dependency: 'local' },
  { how: 'with the Node that is pinned', dependency: `node-linux-${process.arch}` },
])('$how', ({ dependency }) => {
  const project = mkdtempSync(join(tmpdir(), 'clinic-mirror-set-up-'));
  const children: ChildProcess[] = [];

  beforeAll(() => {
    for (const file of ['tools/with-setup.js', 'tools/file-lock.js', 'bin/pinned-node.js']) {
      cpSync(join(root, file), join(project, file));
    }
    mkdirSync(join(project, 'local/bin'), { recursive: true });
    symlinkSync(process.execPath, join(project, 'local/bin/node'));
    write('local/package.json', JSON.stringify({ name: dependency, version: '1.0.0' }));
    write(
      'scripts/echo.ts',
      'const words: string[] = process.argv.slice(2);\nconsole.log(JSON.stringify(import.meta.main ? words : null));\nprocess.exitCode = 7;\n',
    );
    write('scripts/wait.ts', "console.log('started', process.ppid);\nsetInterval(() => {}, 60_000);\n");
    writeVersion('1.0.0');
  });

  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(project, { recursive: true, force: true });
  });

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }

  function writeVersion(version: string): void {
    const manifest = { name: 'project', version, type: 'module', optionalDependencies: { [dependency]: 'file:local' } };
    const packages = {
      '': manifest,
      local: { name: dependency, version: '1.0.0', optional: true },
      [`node_modules/${dependency}`]: { resolved: 'local', link: true },
    };
    write('package.json', JSON.stringify(manifest));
    write(
      'package-lock.json',
      JSON.stringify({ name: 'project', version, lockfileVersion: 3, requires: true, packages }),
    );
  }

  function start(script: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(process.execPath, [join(project, 'tools/with-setup.js'), `scripts/${script}`, ...args], {
      cwd: project,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    const printed = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      printed.out += String(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      printed.err += String(chunk);
    });
    return { child, printed, closed: once(child, 'close') };
  }

  test('the first start installs, passes arguments and the exit code, and keeps standard output for the script', async () => {
    const { closed, printed } = start('echo.ts', ['--flag', 'two words']);
    expect(await closed, printed.err).toEqual([7, null]);
    expect(printed.out).toBe('["--flag","two words"]\n');
    expect(printed.err).toMatch(/npm ci …[\s\S]*installed in/);
  });

  test('a second start installs nothing', async () => {
    const { closed, printed } = start('echo.ts');
    expect(await closed, printed.err).toEqual([7, null]);
    expect(printed.err).not.toContain('npm ci');
  });

  test('a changed lock file is installed once, also by two starts at the same time', async () => {
    writeVersion('1.0.1');
    const both = [start('echo.ts'), start('echo.ts')];
    for (const { closed } of both) expect(await closed).toEqual([7, null]);
    const reports = both.map(({ printed }) => printed.err).join('');
    expect(reports.match(/installed in/g)).toHaveLength(1);
  });

  test('packages from a manual npm ci are not installed again', async () => {
    writeVersion('1.0.4');
    const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit'], { cwd: project, stdio: 'ignore' });
    expect(await once(npm, 'close')).toEqual([0, null]);
    const { closed, printed } = start('echo.ts');
    expect(await closed, printed.err).toEqual([7, null]);
    expect(printed.err).toBe('');
  });

  test('settings of an outer npm do not affect the inner one', async () => {
    writeVersion('1.0.2');
    const { closed, printed } = start('echo.ts', [], {
      npm_config_dry_run: 'true',
      npm_config_global: 'true',
      npm_config_prefix: join(project, 'elsewhere'),
      npm_config_package_lock: 'false',
      NODE_ENV: 'production',
    });
    expect(await closed, printed.err).toEqual([7, null]);
    expect(printed.err).toContain('installed in');
    expect(existsSync(join(project, 'elsewhere'))).toBe(false);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s ends the script, and the exit code contains the signal',
    async (signal) => {
      const { child, closed, printed } = start('wait.ts');
      await waitFor(() => printed.out.endsWith('\n'), { what: 'the script to start' });
      expect(printed.out).toBe(`started ${child.pid}\n`);
      child.kill(signal);
      expect(await closed).toEqual([null, signal]);
    },
  );

  test('a failed installation is reported, and the script does not run', async () => {
    writeVersion('1.0.3');
    write('package-lock.json', '{ broken');
    const { closed, printed } = start('echo.ts');
    expect(await closed).toEqual([1, null]);
    expect(printed.err).toMatch(/npm ci failed \(exit code \d+\)/);
    expect(printed.out).toBe('');
  });
});
