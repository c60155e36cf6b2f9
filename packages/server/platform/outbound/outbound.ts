import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as SecureAgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, getCACertificates } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { minuteMs } from '../durations.ts';
import { AddressGuard, AddressRefused } from './address-guard.ts';
import { guardedLookup } from './guarded-lookup.ts';
import { ReadThrottle } from './read-throttle.ts';
import { createResolver, type Resolve } from './resolve.ts';

export interface OutboundOptions {
  allowedSubnets: readonly string[];
  /** Certificates trusted in addition to the usual ones. */
  extraCertificates?: readonly string[] | undefined;
  resolve?: Resolve | undefined;
}

/** All connections to addresses from customers go through here, so that every address is checked. */
export interface Outbound {
  readonly guard: AddressGuard;
  /** All addresses of a name, unchecked. */
  readonly resolve: Resolve;
  /** For our own requests. The caller closes it. */
  createAgent(options: { keepAliveMs: number }): Agent;
  /** For client libraries that take an agent of Node's. */
  createNodeAgents(options?: AgentOptions): { http: HttpAgent; https: HttpsAgent };
}

type Connect = (options: object, callback?: (error: Error | null, stream: Duplex) => void) => Duplex | null | undefined;

export function createOutbound(options: OutboundOptions): Outbound {
  const guard = new AddressGuard(options.allowedSubnets);
  const resolve = options.resolve ?? createResolver();
  const lookup = guardedLookup(guard, resolve);
  const turns = new ReadThrottle();
  const trust = options.extraCertificates
    ? { ca: [...getCACertificates('default'), ...options.extraCertificates] }
    : {};
  return {
    guard,
    resolve,
    createAgent: ({ keepAliveMs }) => {
      // Callers have their own overall deadline, so a connection attempt needs none below a minute. One context for all
      // connections: by default each would load the certificate store again.
      const secureContext = createSecureContext(trust);
      const connect = buildConnector({ secureContext, lookup, allowH2: false, timeout: minuteMs });
      return new Agent({
        connect: (target, callback) => {
          // An address needs no look-up, so it is checked here.
          if (guard.refusesHost(target.hostname)) callback(new AddressRefused(), null);
          else connect(target, callback);
        },
        keepAliveTimeout: keepAliveMs,
        headersTimeout: 0,
        bodyTimeout: 0,
        pipelining: 1,
      });
    },
    createNodeAgents: (settings = {}) => ({
      http: guardAgent(new HttpAgent({ ...settings, lookup } as AgentOptions), guard, turns),
      https: guardAgent(new HttpsAgent({ ...settings, ...trust, lookup } as SecureAgentOptions), guard, turns),
    }),
  };
}

/** Checks the host before a connection is made; names are checked by the agent's look-up. */
function guardAgent<A extends HttpAgent | HttpsAgent>(agent: A, guard: AddressGuard, turns: ReadThrottle): A {
  const connect = agent.createConnection.bind(agent) as Connect;
  const guarded: Connect = (options, callback) => {
    const { host } = options as { host?: string };
    if (!host || !guard.refusesHost(host)) {
      const socket = connect(options, callback);
      if (socket) turns.slow(socket);
      return socket;
    }
    callback?.(new AddressRefused(), undefined as never);
    return undefined;
  };
  return Object.assign(agent, { createConnection: guarded });
}
