DROP INDEX "outbox_events_waiting";--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "set_aside_until" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "outbox_events_waiting" ON "outbox_events" USING btree ("organization_id","position") WHERE "outbox_events"."dispatched_at" is null;