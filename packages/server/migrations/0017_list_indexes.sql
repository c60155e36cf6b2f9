DROP INDEX "audit_logs_by_resource";--> statement-breakpoint
DROP INDEX "audit_logs_by_time";--> statement-breakpoint
DROP INDEX "restores_by_backup";--> statement-breakpoint
DROP INDEX "schedules_by_project";--> statement-breakpoint
CREATE INDEX "audit_logs_by_resource_type" ON "audit_logs" USING btree ("organization_id","resource_type","position");--> statement-breakpoint
CREATE INDEX "audit_logs_by_resource_id" ON "audit_logs" USING btree ("organization_id","resource_id","position");--> statement-breakpoint
CREATE INDEX "backups_by_time" ON "backups" USING btree ("organization_id","created_at","id") WHERE "backups"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "backups_by_project_and_status" ON "backups" USING btree ("organization_id","project_id","status","id");--> statement-breakpoint
CREATE INDEX "restores_by_time" ON "restores" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "restores_by_status" ON "restores" USING btree ("organization_id","status","id");--> statement-breakpoint
CREATE INDEX "restores_by_project" ON "restores" USING btree ("organization_id","project_id","id");--> statement-breakpoint
CREATE INDEX "restores_by_target" ON "restores" USING btree ("organization_id","target_project_id","id");--> statement-breakpoint
CREATE INDEX "schedules_by_enabled" ON "schedules" USING btree ("organization_id","enabled","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_by_status" ON "webhook_deliveries" USING btree ("webhook_id","status","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_by_event" ON "webhook_deliveries" USING btree ("webhook_id","event_type","id");--> statement-breakpoint
CREATE INDEX "audit_logs_by_time" ON "audit_logs" USING btree ("organization_id","timestamp","position");--> statement-breakpoint
CREATE INDEX "restores_by_backup" ON "restores" USING btree ("organization_id","backup_id","id");--> statement-breakpoint
CREATE INDEX "schedules_by_project" ON "schedules" USING btree ("organization_id","project_id","id");