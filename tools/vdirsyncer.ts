import { type Progress, terminalProgress } from './progress.ts';
import { unpackedPython, withPython } from './python-program.ts';
import { resolveServer, type ServerCommand, type ServerSource } from './server-command.ts';

const VDIRSYNCER: ServerSource = {
  name: 'vdirsyncer',
  commands: ['vdirsyncer'],
  cacheName: 'vdirsyncer',
  unpacked: (folder) => unpackedPython(folder, 'vdirsyncer'),
  packages: withPython('vdirsyncer'),
  downloadSize: '20 MB',
  advice: 'Install it: "apt-get install vdirsyncer", or "pip install vdirsyncer".',
};

/**
 * Finds a vdirsyncer (synchronises files with CalDAV calendars, vdirsyncer.pimutils.org): in PATH, in `.cache/vdirsyncer`, or as Debian's
 * package with its Python, in this order.
 *
 * @throws ServerUnavailable if none is available; the message names the command that installs one
 */
export async function resolveVdirsyncer(progress: Progress = terminalProgress): Promise<ServerCommand> {
  return await resolveServer(VDIRSYNCER, progress);
}
