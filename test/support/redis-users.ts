import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Redis } from 'ioredis';
import type { ServerCommand } from '../../tools/server-command.ts';

/** The user of the ACL file that the daemon is, in tests. */
export const DAEMON = { username: 'clinic-mirror', password: 'password-of-the-daemon' } as const;

/** User with all permissions, to inspect the state. */
export const TESTER = { username: 'tests', password: 'password-of-the-tests' } as const;

const SHIPPED = fileURLToPath(new URL('../../config/redis-users.acl', import.meta.url));

/** Users as Redis reads them. */
export interface UsersFile {
  readonly file: string;
  remove(): Promise<void>;
}

/** Lines of the users that we ship, by name, each as one line of Redis' own file. */
export async function shippedUsers(): Promise<Map<string, string>> {
  const lines = (await readFile(SHIPPED, 'utf8')).split('\n').filter((line) => !line.startsWith('#'));
  const users = lines.join('').split(/(?=user )/);
  return new Map(users.map((line) => [line.split(' ')[1] ?? '', line]));
}

/**
 * Writes users for a server: the shipped user of the daemon, with the password of {@link DAEMON}, and {@link TESTER}. No other user has
 * permissions.
 */
export async function writeUsersFile(server: ServerCommand): Promise<UsersFile> {
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-users-'));
  const file = join(folder, 'users.acl');
  const daemon = ((await shippedUsers()).get(DAEMON.username) ?? '').replace('SHA256_OF_THE_PASSWORD', sha256());
  const shipped = (await isOld(server)) ? withoutNewer(daemon) : daemon;
  const tester = `user ${TESTER.username} on >${TESTER.password} ~* &* +@all`;
  await writeFile(file, ['user default off', tester, shipped, ''].join('\n'));
  return { file, remove: () => rm(folder, { recursive: true }) };
}

/** Returns the commands refused to {@link DAEMON} since the server started, each as `command: why`. */
export async function refusedCommands(redis: Redis): Promise<string[]> {
  const entries = (await redis.call('ACL', 'LOG')) as (string | number)[][];
  return entries.flatMap((entry) => {
    const { reason, object, username } = Object.fromEntries(
      Array.from({ length: entry.length / 2 }, (_, index) => [entry[2 * index], entry[2 * index + 1]]),
    ) as Record<string, string>;
    return username === DAEMON.username ? [`${object}: ${reason}`] : [];
  });
}

function sha256(): string {
  return createHash('sha256').update(DAEMON.password).digest('hex');
}

/** Users as a server older than 7.2 takes them: it knows neither WAITAOF nor CLIENT SETINFO. */
export function withoutNewer(users: string): string {
  return users.replace(' +waitaof +client|setinfo', '');
}

/** Answers of {@link isOld} by command: each test file with a Redis asks, and the answer needs a process. */
const answers = new Map<string, Promise<boolean>>();

/** Whether a server is older than 7.2. */
export function isOld(server: ServerCommand): Promise<boolean> {
  const { command } = server;
  const answer = answers.get(command) ?? askIsOld(server);
  answers.set(command, answer);
  return answer;
}

async function askIsOld({ command, args, env }: ServerCommand): Promise<boolean> {
  const { stdout } = await promisify(execFile)(command, [...args, '--version'], { env: { ...process.env, ...env } });
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) < 7 || (major === '7' && Number(minor) < 2);
}
