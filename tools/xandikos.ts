import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DavUser, type PrivateDavServer, USUAL_DAV_USERS, untilAnswers } from './dav-server.ts';
import { onFreePort } from './free-port.ts';
import { startGuarded } from './guarded-process.ts';
import { type Progress, terminalProgress } from './progress.ts';
import { unpackedPython, withPython } from './python-program.ts';
import { resolveServer, type ServerCommand, type ServerSource } from './server-command.ts';

const XANDIKOS: ServerSource = {
  name: 'Xandikos',
  commands: ['xandikos'],
  cacheName: 'xandikos',
  unpacked: (folder) => unpackedPython(folder, 'xandikos'),
  packages: withPython('xandikos'),
  downloadSize: '15 MB',
  advice: 'Install it: "apt-get install xandikos", or "pip install xandikos".',
};

const START_TIMEOUT_MS = 30_000;

/**
 * Starts a private Xandikos on a free loopback port, with calendars in a temporary folder. The server has one user and requires no
 * password.
 * @throws ServerUnavailable if none is available; Error with its output if it does not start
 */
export async function startXandikos(
  [user = USUAL_DAV_USERS[0] as DavUser]: readonly DavUser[] = USUAL_DAV_USERS,
  progress: Progress = terminalProgress,
): Promise<PrivateDavServer> {
  const server = await resolveServer(XANDIKOS, progress);
  return await onFreePort((port) => startOn(port, user, server));
}

async function startOn(port: number, user: DavUser, server: ServerCommand): Promise<PrivateDavServer> {
  const ownFolder = await mkdtemp(join(tmpdir(), 'clinic-mirror-xandikos-'));
  const directory = join(ownFolder, 'calendars');
  await mkdir(directory);
  // Xandikos keeps calendars in git repositories and would sign its commits with the host user's configuration.
  await writeFile(
    join(ownFolder, '.gitconfig'),
    '[user]\n\tname = clinic-mirror\n\temail = clinic-mirror@example.org\n',
  );
  const { process: guarded } = await startGuarded({
    server: { ...server, env: { ...server.env, HOME: ownFolder } },
    args: [
      ...['--directory', directory, '--listen-address', '127.0.0.1', '--port', String(port)],
      ...['--current-user-principal', `/${user.name}/`, '--defaults'],
    ],
    ownFolder,
    ready: /./,
    readyTimeoutMs: START_TIMEOUT_MS,
  });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers(url, guarded, START_TIMEOUT_MS);
  return { ...guarded, url, port, users: [user], homePathOf: (name) => `/${name}/calendars/` };
}
