import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type DavUser, type PrivateDavServer, USUAL_DAV_USERS, untilAnswers } from './dav-server.ts';
import { BASE_LIBRARIES, withDependencies } from './debian-packages.ts';
import { freePort } from './free-port.ts';
import { startGuarded } from './guarded-process.ts';
import { type Progress, terminalProgress } from './progress.ts';
import { resolveServer, type ServerCommand, type ServerSource, ServerUnavailable } from './server-command.ts';
import { librariesIn } from './unpacked-libraries.ts';

const CYRUS: ServerSource = {
  name: 'Cyrus IMAP',
  // One that is installed would be set up for its own folders and users.
  commands: [],
  versionOption: '-V',
  cacheName: 'cyrus',
  unpacked: unpackedCyrus,
  packages: (dependenciesOf) =>
    withDependencies(
      ['cyrus-common', 'cyrus-imapd', 'cyrus-caldav'],
      (name) => /^(lib|zlib1g)/.test(name) && !BASE_LIBRARIES.includes(name),
      dependenciesOf,
    ),
  downloadSize: '60 MB',
  advice: 'Its tests are skipped then. It needs Debian or Ubuntu.',
};

const START_TIMEOUT_MS = 30_000;
const ADMIN: DavUser = { name: 'admin', password: 'admin-of-a-test' };

/** Returns the command of the Cyrus that is unpacked in this folder. */
export async function unpackedCyrus(folder: string): Promise<ServerCommand> {
  return {
    command: join(folder, 'usr/sbin/cyrmaster'),
    args: [],
    env: { LD_LIBRARY_PATH: await librariesIn(folder) },
  };
}

/**
 * Finds an unpacked Cyrus in `.cache/`, or fetches its packages.
 * @throws ServerUnavailable if none is available
 */
export async function resolveCyrusServer(progress: Progress = terminalProgress): Promise<ServerCommand> {
  return await resolveServer(CYRUS, progress);
}

/**
 * Starts a private Cyrus IMAP with its CalDAV server on a free loopback port and a temporary folder, and creates its users.
 * @param found saves finding it once more
 * @throws ServerUnavailable if no Cyrus is available; Error with its output if it does not start
 */
export async function startCyrus(
  users: readonly DavUser[] = USUAL_DAV_USERS,
  found?: ServerCommand,
): Promise<PrivateDavServer> {
  const installed = found ?? (await resolveCyrusServer());
  const account = await ownAccount();
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-cyrus-'));
  const [port, imapPort] = [await freePort(), await freePort()];
  const server = await reachable(installed, folder);
  const programs = join(dirname(server.command), '../lib/cyrus/bin');
  const passwords = await startPasswordServer(join(folder, 'passwords'), [ADMIN, ...users]);
  const files = await writeConfiguration(folder, account, programs, { port, imapPort });
  const { process: guarded } = await startGuarded({
    // It prints nothing when it is ready.
    server: { command: 'sh', args: ['-c', 'echo starting; exec "$0" "$@"', server.command], env: server.env },
    args: ['-C', files.imapd, '-M', files.cyrus, '-p', join(folder, 'master.pid')],
    ownFolder: folder,
    ready: /starting/,
    readyTimeoutMs: START_TIMEOUT_MS,
  });
  const stop = async () => {
    await guarded.stop();
    passwords.close();
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilAnswers(url, guarded, START_TIMEOUT_MS);
    for (const { name } of users) await createMailbox(imapPort, name);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...guarded, stop, url, port, users, homePathOf: (name) => `/dav/calendars/user/${name}/` };
}

/** @see https://www.cyrusimap.org/imap/reference/manpages/configs/imapd.conf.html and cyrus.conf.html */
async function writeConfiguration(
  folder: string,
  account: Account,
  programs: string,
  ports: { port: number; imapPort: number },
) {
  const [configuration, spool] = [join(folder, 'configuration'), join(folder, 'spool')];
  for (const name of ['db', 'proc', 'socket', 'log', 'msg', 'ptclient', 'lock', 'quota', 'user', 'sieve']) {
    await mkdir(join(configuration, name), { recursive: true });
  }
  await mkdir(spool);
  const imapd = [
    `configdirectory: ${configuration}`,
    `partition-default: ${spool}`,
    `sievedir: ${join(configuration, 'sieve')}`,
    'defaultpartition: default',
    `cyrus_user: ${account.user}`,
    `cyrus_group: ${account.group}`,
    `admins: ${ADMIN.name}`,
    'unixhierarchysep: yes',
    // Else a name that is deleted twice within a second fails the second time.
    'delete_mode: immediate',
    'allowplaintext: yes',
    'sasl_mech_list: PLAIN',
    'sasl_pwcheck_method: saslauthd',
    `sasl_saslauthd_path: ${join(folder, 'passwords')}`,
    'httpmodules: caldav',
    // Tests send no invitations.
    'caldav_allowscheduling: off',
    'caldav_realm: calendars',
  ];
  const files = { imapd: join(folder, 'imapd.conf'), cyrus: join(folder, 'cyrus.conf') };
  const command = (program: string) => `cmd="${join(programs, program)} -C ${files.imapd}`;
  const service = (name: string, program: string, port: number) =>
    `  ${name} ${command(program)}" listen="127.0.0.1:${port}" proto=tcp4 prefork=1`;
  const cyrus = [
    'START {',
    `  recover ${command('ctl_cyrusdb')} -r"`,
    '}',
    'SERVICES {',
    service('imap', 'imapd', ports.imapPort),
    service('http', 'httpd', ports.port),
    '}',
  ];
  await writeFile(files.imapd, `${imapd.join('\n')}\n`);
  await writeFile(files.cyrus, `${cyrus.join('\n')}\n`);
  const own = (await readdir(folder, { recursive: true })).filter((entry) => !entry.startsWith('program'));
  for (const entry of ['', ...own]) await chown(join(folder, entry), account.uid, account.gid);
  return files;
}

interface Account {
  user: string;
  uid: number;
  group: string;
  gid: number;
}

/** Returns the server's account: the current user, or `nobody` for root, because the server refuses to run as root. */
async function ownAccount(): Promise<Account> {
  const linesOf = async (file: string) => (await readFile(file, 'utf8')).split('\n').map((line) => line.split(':'));
  const wanted = isRoot() ? 'nobody' : userInfo().username;
  const [user = wanted, , uid, gid] = (await linesOf('/etc/passwd')).find(([name]) => name === wanted) ?? [];
  const [group = ''] = (await linesOf('/etc/group')).find(([, , id]) => id === gid) ?? [];
  return { user, uid: Number(uid), group, gid: Number(gid) };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Returns a server that the server's account can read: below closed folders, a copy in the data folder, which is removed with it.
 * @throws ServerUnavailable if the folder of temporary files is closed too
 */
async function reachable(server: ServerCommand, folder: string): Promise<ServerCommand> {
  if (!isRoot() || (await isOpen(server.command))) return server;
  const copy = join(folder, 'program');
  await cp(join(dirname(server.command), '../..'), copy, { recursive: true, verbatimSymlinks: true });
  await chmod(copy, 0o755);
  await chmod(folder, 0o711);
  const copied = await unpackedCyrus(copy);
  if (await isOpen(copied.command)) return copied;
  await rm(folder, { recursive: true });
  throw new ServerUnavailable(`Cyrus IMAP does not run as root, and other users can read nothing in ${tmpdir()}.`);
}

/** Checks whether every user can reach a program. */
async function isOpen(program: string): Promise<boolean> {
  for (let path = program; path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) === 0) return false;
  }
  return true;
}

/**
 * Stands for saslauthd: four texts come, each after its length in two bytes (name, password, service, realm), and `OK` or `NO` goes back.
 * @see https://github.com/cyrusimap/cyrus-sasl/blob/master/saslauthd/ipc_unix.c
 */
async function startPasswordServer(path: string, users: readonly DavUser[]): Promise<Server> {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const [name, password, service, realm] = countedTexts(received);
      if (name === undefined || service === undefined || realm === undefined) return;
      const isKnown = users.some((user) => user.name === name && user.password === password);
      socket.end(Buffer.concat([Buffer.from([0, 2]), Buffer.from(isKnown ? 'OK' : 'NO')]));
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  await chmod(path, 0o777);
  return server.unref();
}

function countedTexts(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at);
    if (end > bytes.length) break;
    texts.push(bytes.toString('utf8', at + 2, end));
    at = end;
  }
  return texts;
}

/** Makes the inbox that a user needs before anything else, by IMAP (RFC 9051). */
async function createMailbox(port: number, user: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    const lines = createInterface(socket)[Symbol.asyncIterator]();
    for (const command of [`LOGIN ${ADMIN.name} ${ADMIN.password}`, `CREATE user/${user}`]) {
      socket.write(`a ${command}\r\n`);
      let line = '';
      while (!line.startsWith('a ')) line = (await lines.next()).value ?? 'a ended';
      if (!line.startsWith('a OK')) throw new Error(`the user could not be made: ${line}`);
    }
  } finally {
    socket.destroy();
  }
}
