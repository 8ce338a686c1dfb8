import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html } from '../../model/html.ts';
import type { Language } from '../languages.ts';

/** What every page is made with. */
export interface PageContext {
  language: Language;
  request: FastifyRequest;
}

/** What a page shows, within the frame that all share. */
export interface Page {
  title: string;
  main: Html;
}

/** Sends a page. */
export function sendPage(reply: FastifyReply, { language }: PageContext, { title, main }: Page): FastifyReply {
  const whole = html`<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${title}</title></head><body><main>${main}</main></body></html>`;
  return reply.type('text/html; charset=utf-8').send(whole.toString());
}
