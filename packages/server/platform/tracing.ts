import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

interface TracingSettings {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  OTEL_SERVICE_NAME: string;
}

/** Spans that the receiver has not got yet; more are dropped. */
const queuedSpansMax = 4096;

/** The SDK is only loaded when traces are sent. Returns a function that sends the rest and stops. */
export async function startTracing(
  settings: TracingSettings,
  version: string,
): Promise<(() => Promise<void>) | undefined> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint) return undefined;
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(settings.OTEL_EXPORTER_OTLP_HEADERS ?? ''),
  });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': settings.OTEL_SERVICE_NAME, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: queuedSpansMax })],
  });
  provider.register();
  return async () => {
    // An unreachable receiver must not stop the service from ending.
    await provider.shutdown().catch(() => undefined);
    for (const api of [trace, context, propagation]) api.disable();
  };
}

/** `name=value,name=value`, the values percent-encoded, as the OpenTelemetry specification has it. */
function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair.includes('='))
      .map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
      }),
  );
}

const tracer = () => trace.getTracer('holdfast');

/** Costs almost nothing while traces are off. */
export async function inSpan<Result>(
  name: string,
  attributes: Attributes,
  work: () => Promise<Result>,
  kind: SpanKind = SpanKind.INTERNAL,
): Promise<Result> {
  return tracer().startActiveSpan(name, { attributes, kind }, async (span) => {
    try {
      return await work();
    } catch (error) {
      noteFailure(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function noteFailure(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
}

/** What every log line says about its span. */
export function traceFields(): { traceId?: string; spanId?: string } {
  const found = trace.getActiveSpan()?.spanContext();
  return found ? { traceId: found.traceId, spanId: found.spanId } : {};
}

/** A port whose named methods are spans: a promise until it settles, a stream until its end. */
export function traced<Port extends object>(
  port: Port,
  prefix: string,
  attributes: Attributes,
  methods: readonly (keyof Port & string)[],
): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      // The port has private members, so methods are called on the port itself.
      if (!methods.includes(name as keyof Port & string)) return value.bind(target);
      return (...args: unknown[]) =>
        traceCall(`${prefix} ${String(name)}`, attributes, () => value.apply(target, args));
    },
  });
}

function traceCall(name: string, attributes: Attributes, call: () => unknown): unknown {
  const span = tracer().startSpan(name, { attributes, kind: SpanKind.CLIENT });
  const inside = trace.setSpan(context.active(), span);
  const result = context.with(inside, call);
  if (isStream(result)) return tracedStream(result, span);
  return Promise.resolve(result).then(
    (answer) => {
      span.end();
      return answer;
    },
    (error: unknown) => {
      noteFailure(span, error);
      span.end();
      throw error;
    },
  );
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* tracedStream(stream: AsyncIterable<unknown>, span: Span): AsyncGenerator<unknown> {
  try {
    yield* stream;
  } catch (error) {
    noteFailure(span, error);
    throw error;
  } finally {
    span.end();
  }
}
