import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { checkLicence, findMailbox } from './access.ts';
import { type Context, jsonBody } from './call.ts';
import { GraphError, invalidRequest, itemNotFound } from './errors.ts';
import { post, type Subscription, type Subscriptions } from './subscriptions.ts';
import type { Mailbox } from './world.ts';

/** Anything shorter is raised to this (resources/subscription). */
const LEAST_MINUTES = 45;
const MAX_CLIENT_STATE = 128;
const MINUTE_MS = 60_000;
const CHANGE_TYPES: readonly string[] = ['created', 'updated', 'deleted'];
/** `/me/events`, `/users/{id}/calendars/{id}/events`, …, with or without the slash in front. */
const RESOURCE = /^\/?(?:(me)|users\/([^/]+))(?:\/calendars\/([^/]+))?\/events$/i;

const newSubscription = z.strictObject({
  changeType: z.string(),
  resource: z.string(),
  notificationUrl: z.url(),
  lifecycleNotificationUrl: z.url().optional(),
  expirationDateTime: z.iso.datetime({ offset: true }),
  clientState: z.string().max(MAX_CLIENT_STATE).optional(),
  latestSupportedTlsVersion: z.string().optional(),
});
const renewal = z.strictObject({
  expirationDateTime: z.iso.datetime({ offset: true }).optional(),
  notificationUrl: z.url().optional(),
});

/** The calls at `/subscriptions`. Each application sees its own. */
export class SubscriptionRoutes {
  readonly #subscriptions: Subscriptions;

  constructor(subscriptions: Subscriptions) {
    this.#subscriptions = subscriptions;
  }

  /**
   * POST: checks the subscription, validates both notification URLs, then stores the subscription. Throws GraphError 400, 403, 404 or 409.
   */
  async create(context: Context): Promise<ApiAnswer> {
    const { caller, preferences } = context;
    const body = parse(newSubscription, context);
    const target = readResource(context, body.resource);
    const subscription: Subscription = {
      ...target,
      id: randomUUID(),
      clientId: caller.clientId,
      account: caller.account,
      resource: body.resource,
      changeTypes: readChangeTypes(body.changeType),
      notificationUrl: body.notificationUrl,
      lifecycleNotificationUrl: body.lifecycleNotificationUrl,
      clientState: body.clientState,
      expiresAt: expiryOf(context, body.expirationDateTime),
      immutableIds: preferences.immutableIds,
    };
    if (this.#own(context).some((other) => isSame(other, subscription))) {
      throw new GraphError(409, 'ExtensionError', 'Subscription with same resource and changeType already exists.');
    }
    await shakeHands(context, subscription.notificationUrl);
    if (subscription.lifecycleNotificationUrl !== undefined) {
      await shakeHands(context, subscription.lifecycleNotificationUrl);
    }
    this.#subscriptions.put(subscription);
    return { status: 201, body: toBody(subscription) };
  }

  list(context: Context): ApiAnswer {
    return { status: 200, body: { value: this.#own(context).map(toBody) } };
  }

  get(context: Context): ApiAnswer {
    return { status: 200, body: toBody(this.#require(context)) };
  }

  /** PATCH: sets a new expiry. A new notification URL is validated first. Throws GraphError 400 or 404. */
  async renew(context: Context): Promise<ApiAnswer> {
    const subscription = this.#require(context);
    const { expirationDateTime, notificationUrl } = parse(renewal, context);
    const expiresAt = expirationDateTime === undefined ? subscription.expiresAt : expiryOf(context, expirationDateTime);
    if (notificationUrl !== undefined) {
      await shakeHands(context, notificationUrl);
    }
    const renewed = { ...subscription, expiresAt, notificationUrl: notificationUrl ?? subscription.notificationUrl };
    this.#subscriptions.put(renewed);
    return { status: 200, body: toBody(renewed) };
  }

  remove(context: Context): ApiAnswer {
    this.#subscriptions.delete(this.#require(context).id);
    return { status: 204 };
  }

  reauthorize(context: Context): ApiAnswer {
    this.#require(context);
    context.world.counts.add('reauthorizations');
    return { status: 204 };
  }

  #own({ caller }: Context): Subscription[] {
    const all = this.#subscriptions.list();
    return all.filter(({ clientId, account }) => clientId === caller.clientId && account === caller.account);
  }

  #require(context: Context): Subscription {
    const found = this.#own(context).find(({ id }) => id === context.parameters.subscriptionId);
    if (!found) {
      throw new GraphError(404, 'ResourceNotFound', 'The object was not found.');
    }
    return found;
  }
}

function parse<Shape>(shape: z.ZodType<Shape>, context: Context): Shape {
  const parsed = shape.safeParse(jsonBody(context));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue?.code === 'unrecognized_keys' ? issue.keys.join() : issue?.path.join('.');
    throw validationError(`Invalid value of the subscription's '${place}'.`);
  }
  return parsed.data;
}

/** Returns the mailbox and calendar of a subscription, if the caller may read them. Throws GraphError. */
function readResource(context: Context, resource: string): Pick<Subscription, 'mailboxId' | 'calendarId'> {
  const [, me, user, calendarId] = RESOURCE.exec(resource) ?? [];
  if (me === undefined && user === undefined) {
    throw invalidRequest('The sandbox takes subscriptions to events only.');
  }
  const mailbox = findMailbox(context.world, context.caller, me === undefined ? decodeURIComponent(user ?? '') : 'me');
  checkLicence(mailbox);
  if (isDelegatedElsewhere(context.caller, mailbox)) {
    throw new GraphError(403, 'ExtensionError', 'Operation: Create; Exception: [Status Code: Forbidden]');
  }
  if (calendarId !== undefined && !mailbox.calendars.has(calendarId)) {
    throw itemNotFound();
  }
  return { mailboxId: mailbox.id, calendarId };
}

/**
 * A user's token can subscribe only to the user's own mailbox, even if other mailboxes are shared
 * (concepts/outlook-change-notifications-overview).
 */
function isDelegatedElsewhere({ account }: Context['caller'], { mail }: Mailbox): boolean {
  return account !== undefined && account.toLowerCase() !== mail.toLowerCase();
}

function readChangeTypes(text: string): string[] {
  const types = text.split(',').map((type) => type.trim().toLowerCase());
  if (!types.every((type) => CHANGE_TYPES.includes(type))) {
    throw validationError("Invalid value of the subscription's 'changeType'.");
  }
  return [...new Set(types)].sort();
}

function expiryOf({ world }: Context, expirationDateTime: string): number {
  const wanted = Date.parse(expirationDateTime);
  const { maxSubscriptionMinutes } = world.settings;
  if (wanted <= world.now()) {
    throw validationError('Subscription expiration must be in the future.');
  }
  if (wanted > world.now() + maxSubscriptionMinutes * MINUTE_MS) {
    throw validationError(`Subscription expiration can only be ${maxSubscriptionMinutes} minutes in the future.`);
  }
  return Math.max(wanted, world.now() + LEAST_MINUTES * MINUTE_MS);
}

function isSame(one: Subscription, other: Subscription): boolean {
  const isResource = one.mailboxId === other.mailboxId && one.calendarId === other.calendarId;
  return isResource && one.changeTypes.join() === other.changeTypes.join();
}

/** The receiver must send the decoded token back as plain text, in time. Throws GraphError 400. */
async function shakeHands({ world }: Context, address: string): Promise<void> {
  const token = `Validation: Testing client application reachability + 100% for subscription Request-Id: ${randomUUID()}`;
  const url = new URL(address);
  url.search += `${url.search === '' ? '?' : '&'}validationToken=${encodeURIComponent(token)}`;
  const { status, contentType, text } = await post(url.href, '', world.settings.handshakeTimeoutMs);
  if (status !== 200 || !/^text\/plain\b/i.test(contentType) || text !== token) {
    throw validationError('Subscription validation request failed. Must respond with 200 OK to this request.');
  }
}

function validationError(message: string): GraphError {
  return new GraphError(400, 'ValidationError', message);
}

function toBody(subscription: Subscription): object {
  return {
    id: subscription.id,
    resource: subscription.resource,
    applicationId: subscription.clientId,
    changeType: subscription.changeTypes.join(','),
    clientState: null,
    notificationUrl: subscription.notificationUrl,
    lifecycleNotificationUrl: subscription.lifecycleNotificationUrl ?? null,
    expirationDateTime: new Date(subscription.expiresAt).toISOString(),
    creatorId: subscription.account ?? subscription.clientId,
  };
}
