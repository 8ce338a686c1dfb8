import { MirrorError } from '../model/errors.ts';

/**
 * Nothing is asked of servers that anybody could stand in for: with this variable Node takes every certificate for good, and logins and
 * patients' data go to whoever answers.
 * @throws MirrorError `settings`, code `certificates-unchecked`
 * @see https://nodejs.org/api/cli.html#node_tls_reject_unauthorizedvalue
 */
export function requireCertificateChecks(env: Readonly<Record<string, string | undefined>>): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  throw new MirrorError('NODE_TLS_REJECT_UNAUTHORIZED=0 lets anybody stand in for any server', {
    actor: 'settings',
    code: 'certificates-unchecked',
    retry: 'never',
    remedy: 'unset it; for certificates of your own authority set NODE_EXTRA_CA_CERTS to the file with its certificate',
  });
}
