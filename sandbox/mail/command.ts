import { type SandboxCommand, UsageError } from '../kit/command.ts';
import { startMailSandbox } from './index.ts';

const SECURITY = ['none', 'starttls', 'tls'] as const;

/** How `npm run sandbox -- mail` starts it. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port of SMTP on localhost; 0 takes a free one', default: 4680 },
    'http-port': { about: 'port for what it took and for faults', default: 4681 },
    security: { about: 'encryption', default: 'none', choices: SECURITY },
    login: { about: 'accepted user:password; without this option, authentication is not required', default: '' },
  },
  start: async (given) => {
    const [user, password] = given.text('login').split(':');
    if (user !== '' && password === undefined) throw new UsageError('--login must be user:password');
    const sandbox = await startMailSandbox({
      port: given.number('port'),
      httpPort: given.number('http-port'),
      security: given.choice('security', SECURITY),
      ...(user && password ? { login: { user, password } } : {}),
    });
    const server = `${sandbox.host}:${sandbox.port}`;
    const adminUrl = sandbox.adminUrl ?? '';
    const scheme = given.text('security') === 'tls' ? 'smtps' : 'smtp';
    const encrypted = given.text('security') === 'none' ? '' : ' --ssl-reqd --insecure';
    const login = user ? ` --user '${given.text('login')}'` : '';
    return {
      facts: { smtp: server, mails: `${adminUrl}/__sandbox/mails`, certificate: `${adminUrl}/__sandbox/certificate` },
      first: [
        `printf 'Subject: Hello\\r\\n\\r\\nSee you tomorrow.\\r\\n' | curl -sS${encrypted}${login} --mail-from desk@clinic.example --mail-rcpt patient@home.example -T - '${scheme}://${server}'`,
      ],
      example: { url: `${adminUrl}/__sandbox/mails` },
      adminUrl,
      fault: { match: { method: 'RCPT' }, times: 1, fault: { kind: 'reply', code: 451 } },
      close: sandbox.close,
    };
  },
};
