import { join } from 'node:path';
import { BASE_LIBRARIES, withDependencies } from './debian-packages.ts';
import type { ServerSource } from './server-command.ts';
import { librariesIn } from './unpacked-libraries.ts';

/** Checks and tests alert rules (https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/). */
export const PROMTOOL: ServerSource = {
  name: 'promtool',
  commands: ['promtool'],
  cacheName: 'prometheus',
  unpacked: async (folder) => ({ command: join(folder, 'usr/bin/promtool'), args: [], env: {} }),
  packages: async () => ['prometheus'],
  downloadSize: '19 MB',
  advice: 'Its tests are skipped then. It is part of Prometheus.',
};

/** Checks unit files: systemd-analyze(1), `verify`. */
export const SYSTEMD_ANALYZE: ServerSource = {
  name: 'systemd-analyze',
  commands: ['systemd-analyze'],
  cacheName: 'systemd',
  unpacked: async (folder) => ({
    command: join(folder, 'usr/bin/systemd-analyze'),
    args: [],
    // The library that only systemd's programs share is one folder deeper (file list of Debian's libsystemd-shared).
    env: {
      LD_LIBRARY_PATH: (await librariesIn(folder))
        .split(':')
        .flatMap((path) => [path, `${path}/systemd`])
        .join(':'),
    },
  }),
  packages: (dependenciesOf) =>
    withDependencies(['systemd'], (name) => /^lib/.test(name) && !BASE_LIBRARIES.includes(name), dependenciesOf),
  downloadSize: '5 MB',
  advice: 'Its tests are skipped then. It needs Debian or Ubuntu.',
};
