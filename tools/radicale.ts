import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DavUser, type PrivateDavServer, USUAL_DAV_USERS } from './dav-server.ts';
import { startGuarded } from './guarded-process.ts';
import { type Progress, terminalProgress } from './progress.ts';
import { unpackedPython, withPython } from './python-program.ts';
import { resolveServer, type ServerCommand, type ServerSource, ServerUnavailable } from './server-command.ts';

const RADICALE: ServerSource = {
  name: 'Radicale',
  commands: ['radicale'],
  cacheName: 'radicale',
  unpacked: (folder) => unpackedPython(folder, 'radicale'),
  packages: withPython('python3-radicale'),
  downloadSize: '12 MB',
  advice: 'Install it: "apt-get install radicale", or "pip install radicale".',
};

const START_TIMEOUT_MS = 30_000;

export interface StartRadicaleOptions {
  /** One user by default: `clinic` with the password `secret`. */
  readonly users?: readonly DavUser[];
  /** After which age a sync token is forgotten (`max_sync_token_age`); the program's default is 30 days. */
  readonly maxSyncTokenAgeSeconds?: number;
  /** Saves finding it once more. */
  readonly server?: ServerCommand;
}

/**
 * Finds a working Radicale: in PATH, in `.cache/radicale`, or as Debian's package with its Python, in this order.
 *
 * @throws ServerUnavailable if none is available; the message names the command that installs one
 */
export async function resolveRadicaleServer(progress: Progress = terminalProgress): Promise<ServerCommand> {
  return await resolveServer(RADICALE, progress);
}

/**
 * Starts a private Radicale on a free loopback port, with basic authentication and temporary storage. The server ends with stop() or with
 * this process, even after SIGKILL.
 *
 * @returns the server, or the reason why it is unavailable: no program, or a version without a required option
 * @throws Error with the server's output if it does not start
 */
export async function startRadicale(
  options: StartRadicaleOptions = {},
): Promise<PrivateDavServer | { unavailable: string }> {
  const users = options.users ?? USUAL_DAV_USERS;
  let server: ServerCommand;
  try {
    server = options.server ?? (await resolveRadicaleServer());
  } catch (error) {
    if (error instanceof ServerUnavailable) return { unavailable: error.message };
    throw error;
  }
  const ownFolder = await mkdtemp(join(tmpdir(), 'clinic-mirror-radicale-'));
  const { process: guarded, match } = await startGuarded({
    server,
    args: ['--config', await writeConfiguration(ownFolder, users, options)],
    ownFolder,
    ready: /Listening on '\[?127\.0\.0\.1\]?:(\d+)'[\s\S]*server ready/,
    readyTimeoutMs: START_TIMEOUT_MS,
  });
  const port = Number(match[1]);
  return { ...guarded, users, port, url: `http://127.0.0.1:${port}`, homePathOf: (name) => `/${name}/` };
}

/** Sections and options as in Radicale's documentation, https://radicale.org/v3.html#configuration */
async function writeConfiguration(
  folder: string,
  users: readonly DavUser[],
  options: StartRadicaleOptions,
): Promise<string> {
  const { maxSyncTokenAgeSeconds } = options;
  const usersFile = join(folder, 'users');
  const storage = join(folder, 'collections');
  const configurationFile = join(folder, 'config');
  const lines = [
    '[server]',
    'hosts = 127.0.0.1:0',
    'max_connections = 100',
    '[auth]',
    'type = htpasswd',
    `htpasswd_filename = ${usersFile}`,
    'htpasswd_encryption = plain',
    'delay = 0',
    '[storage]',
    `filesystem_folder = ${storage}`,
    ...(maxSyncTokenAgeSeconds === undefined ? [] : [`max_sync_token_age = ${maxSyncTokenAgeSeconds}`]),
    '[logging]',
    'level = info',
  ];
  await mkdir(storage);
  await writeFile(usersFile, users.map(({ name, password }) => `${name}:${password}\n`).join(''), { mode: 0o600 });
  await writeFile(configurationFile, `${lines.join('\n')}\n`);
  return configurationFile;
}
