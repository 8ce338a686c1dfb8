import fastify from 'fastify';
import { z } from 'zod';
import { addAdminVerbs } from '../kit/admin-verbs.ts';
import type { SandboxKit } from '../kit/kit.ts';
import { listen, type RunningServer } from '../kit/listen.ts';
import type { TakenMail } from './types.ts';

const wanted = z.object({ to: z.string().optional() });

/** Dependencies of a desk. */
export interface DeskParts {
  kit: SandboxKit;
  certificate: string;
  mails(to?: string): TakenMail[];
  clear(): void;
}

/** Starts the HTTP side on loopback, for a mail server that runs on its own. Throws when the port is taken. */
export async function startDesk({ kit, certificate, mails, clear }: DeskParts, port: number): Promise<RunningServer> {
  const app = fastify();
  kit.install(app);
  addAdminVerbs(app, {
    'GET mails': ({ query }) => {
      return { items: mails(wanted.parse(query).to).map((mail) => ({ ...mail, raw: mail.raw.toString() })) };
    },
    'DELETE mails': clear,
    'GET certificate': () => certificate,
  });
  return listen(app, port);
}
